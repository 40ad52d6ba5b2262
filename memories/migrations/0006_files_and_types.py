import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models

import members.ids


def tenant():
    return models.ForeignKey(
        db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="members.organisation"
    )


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0005_snapshots_and_holds"),
    ]

    operations = [
        migrations.CreateModel(
            name="Blob",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("sha256", models.CharField(max_length=64)),
                ("size", models.PositiveBigIntegerField()),
                ("name", models.CharField(help_text="Where the store keeps it.", max_length=120, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("organisation", tenant()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("organisation", "sha256"), name="blob_once_per_hash")],
            },
        ),
        migrations.CreateModel(
            name="File",
            fields=[
                ("id", members.ids.PublicIdField("file_", editable=False, primary_key=True, serialize=False)),
                (
                    "uploaded_by",
                    models.CharField(
                        help_text="The principal that sent it, and may name it in a record.", max_length=180
                    ),
                ),
                ("name", models.CharField(max_length=255)),
                ("media_type", models.CharField(help_text="Told from the bytes.", max_length=120)),
                ("purpose", models.CharField(default="user_data", max_length=40)),
                ("created_at", models.DateTimeField()),
                (
                    "blob",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="files", to="memories.blob"
                    ),
                ),
                ("organisation", tenant()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["organisation", "created_at"], name="file_of_organisation"),
                    models.Index(fields=["created_at"], name="file_by_age"),
                ],
            },
        ),
        migrations.AddIndex(
            model_name="version",
            index=django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(("content__contains", [{"type": "file"}])),
                fastupdate=False,
                fields=["content"],
                name="version_files",
                opclasses=["jsonb_path_ops"],
            ),
        ),
        migrations.CreateModel(
            name="TypeDefinition",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("type", models.CharField(max_length=80)),
                ("definition", models.JSONField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("organisation", tenant()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("organisation", "type"), name="type_once")],
            },
        ),
        migrations.CreateModel(
            name="RecordImport",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("sha256", models.CharField(help_text="Of the whole file.", max_length=64)),
                ("lines", models.PositiveBigIntegerField(default=0, help_text="How many lines are behind it.")),
                (
                    "offset",
                    models.PositiveBigIntegerField(default=0, help_text="Where the next line begins, in bytes."),
                ),
                ("written", models.PositiveBigIntegerField(default=0)),
                ("refused", models.PositiveBigIntegerField(default=0)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "memory",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.memory",
                    ),
                ),
                ("organisation", tenant()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("memory", "sha256"), name="import_once_per_file")],
            },
        ),
    ]
