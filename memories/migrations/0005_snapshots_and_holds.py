import django.contrib.postgres.indexes
import django.db.models.deletion
import members.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('members', '0003_invitations_and_ends_of_keys'),
        ('memories', '0004_deletion_and_use'),
    ]

    operations = [
        migrations.CreateModel(
            name='Snapshot',
            fields=[
                ('id', members.ids.PublicIdField('hsnp_', editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=160)),
                ('message', models.TextField(blank=True, default='')),
                ('at', models.DateTimeField()),
                ('taken_by', models.CharField(help_text='The principal that took it.', max_length=180)),
                ('memory', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memories.memory')),
                ('organisation', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='members.organisation')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('memory', 'at'), name='snapshot_instant_once')],
            },
        ),
        migrations.CreateModel(
            name='Hold',
            fields=[
                ('id', members.ids.PublicIdField('hold_', editable=False, primary_key=True, serialize=False)),
                ('reason', models.CharField(max_length=500)),
                ('placed_by', models.CharField(max_length=180)),
                ('placed_at', models.DateTimeField()),
                ('lifted_by', models.CharField(blank=True, default='', max_length=180)),
                ('lifted_at', models.DateTimeField(null=True)),
                ('memory', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.memory')),
                ('organisation', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='members.organisation')),
                ('record', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.record')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('lifted_at', None)), fields=['memory'], name='hold_standing_on_memory'), models.Index(condition=models.Q(('lifted_at', None), ('record__isnull', False)), fields=['record'], name='hold_standing_on_record'), models.Index(fields=['memory', '-placed_at'], name='hold_of_memory')],
            },
        ),
        migrations.AddIndex(
            model_name='version',
            index=django.contrib.postgres.indexes.GinIndex(fields=['references'], name='version_references', opclasses=['jsonb_path_ops']),
        ),
        migrations.AddIndex(
            model_name='version',
            index=models.Index(condition=models.Q(('invalidated_at', None), _negated=True), fields=['memory', 'invalidated_at'], name='version_closed_in_memory'),
        ),
    ]
