"""Every route with everyone who might call it: the URL configuration is walked, and a route without a row fails."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from harnesses.folders import read_skills
from harnesses.services.configuration import Draft
from harnesses.services.configuration import create as create_harness
from members import digests, webhooks
from members.ids import mint
from members.models import Group, Member, User
from members.services import invite, issue_key
from memories.models import Embedding, Grant, Memory, Reach, Record, ReviewItem, Version
from memories.services import queries, reembed
from memories.services.holds import place_hold
from memories.services.sight import look
from memories.statements import read_definition
from tests import factories
from tests.conftest import Answer, Api

CAST = ("owner", "teammate", "reader", "agent", "stranger", "foreigner", "nobody")

# Method, route, the status for each of the cast, and what is sent. Teammate and agent hold read, write and create
# through a group; the reader holds read; the stranger was granted nothing; the foreigner is of another organisation.
TABLE = """
                                                              owner team reader agent stranger foreigner nobody
GET    v1/uhp                                                   200  200  200  200  200  200  200
GET    v1/schema                                                200  200  200  200  200  200  200
GET    v1/memories                                              200  200  200  200  200  200  401
GET    v1/memories?granted=true                                 200  200  200  200  200  200  401
GET    v1/memories?parent={memory_id}                           200  200  200  200  404  404  401
GET    v1/memories?ancestor={memory_id}                         200  200  200  200  404  404  401
POST   v1/memories                                              200  200  200  200  200  200  401  {"name": "New"}
POST   v1/memories                                              200  200  403  200  404  404  401  {"name": "New", "parent_id": "{memory_id}"}
POST   v1/memories                                              422  422  403  422  404  404  401  {"name": 1, "parent_id": "{memory_id}"}
GET    v1/memories/providers                                    200  200  200  200  200  200  401
GET    v1/memories/types                                        200  200  200  200  200  200  401
GET    v1/memories/<str:memory_id>                              200  200  200  200  404  404  401
PUT    v1/memories/<str:memory_id>                              200  200  403  200  404  404  401  {"name": "Renamed"}
PUT    v1/memories/<str:memory_id>                              200  200  403  200  404  404  401  {}
PUT    v1/memories/<str:memory_id>                              200  403  403  403  404  404  401  {"restricted": true}
PUT    v1/memories/<str:memory_id>                              200  403  403  403  404  404  401  {"parent_id": "{other_id}"}
PUT    v1/memories/<str:memory_id>                              404  403  403  403  404  404  401  {"parent_id": "{unseen_id}"}
PUT    v1/memories/<str:memory_id>                              422  422  403  422  404  404  401  {"name": ""}
DELETE v1/memories/<str:memory_id>                              200  403  403  403  404  404  401
GET    v1/memories/<str:memory_id>/grants                       200  403  403  403  404  404  401
POST   v1/memories/<str:memory_id>/grants                       200  403  403  403  404  404  401  {"principal": "member:x", "privileges": ["read"]}
POST   v1/memories/<str:memory_id>/grants                       422  403  403  403  404  404  401  {"principal": 1}
DELETE v1/memories/<str:memory_id>/grants/<str:grant_id>        200  403  403  403  404  404  401
GET    v1/memories/<str:memory_id>/records                      200  200  200  200  404  404  401
POST   v1/memories/<str:memory_id>/records                      200  200  403  200  404  404  401  {"content": "Words."}
POST   v1/memories/<str:memory_id>/records                      422  422  403  422  404  404  401  {"content": 1}
POST   v1/memories/<str:memory_id>/records                      400  400  403  400  404  404  401  not JSON
GET    v1/memories/<str:memory_id>/records/<str:record_id>      200  200  200  200  404  404  401
PATCH  v1/memories/<str:memory_id>/records/<str:record_id>      200  200  403  200  404  404  401  {"content": "Other."}
PATCH  v1/memories/<str:memory_id>/records/<str:record_id>      422  422  403  422  404  404  401  {}
DELETE v1/memories/<str:memory_id>/records/<str:record_id>      200  200  403  200  404  404  401
GET    v1/memories/<str:memory_id>/records/<str:record_id>/history
                                                                200  200  200  200  404  404  401
GET    v1/memories/<str:memory_id>/records/<str:record_id>/content/<str:index>
                                                                404  404  404  404  404  404  401
POST   v1/memories/<str:memory_id>/records/<str:record_id>/operations/<str:name>
                                                                404  404  404  404  404  404  401
POST   v1/files                                                 400  400  400  400  400  400  401  no file
POST   v1/memories/<str:memory_id>/recall                       200  200  200  200  404  404  401  {"query": "words"}
POST   v1/memories/<str:memory_id>/recall                       422  422  422  422  404  404  401  {}
POST   v1/memories/<str:memory_id>/observe                      200  200  403  200  404  404  401  {"episodes": [{"content": "Said."}]}
POST   v1/memories/<str:memory_id>/observe                      422  422  403  422  404  404  401  {"episodes": []}
GET    v1/memories/<str:memory_id>/jobs/<str:job_id>            404  404  404  404  404  404  401
POST   v1/memories/<str:memory_id>/graph                        200  200  200  200  404  404  401  {}
POST   v1/memories/<str:memory_id>/graph                        200  200  200  200  404  404  401  {"around": "{record_id}", "hops": 2}
POST   v1/memories/<str:memory_id>/graph                        404  404  404  404  404  404  401  {"around": "{other_id}"}
POST   v1/memories/<str:memory_id>/graph                        422  422  422  422  404  404  401  {"hops": 4}
POST   v1/memories/<str:memory_id>/erase                        200  403  403  403  404  404  401  {"record_ids": ["{record_id}"]}
POST   v1/memories/<str:memory_id>/erase                        404  403  403  403  404  404  401  {"record_ids": ["{other_id}"]}
POST   v1/memories/<str:memory_id>/erase                        422  403  403  403  404  404  401  {}
GET    v1/memories/<str:memory_id>/queries                      200  200  200  200  404  404  401
PUT    v1/memories/<str:memory_id>/queries/<str:name>           200  200  403  200  404  404  401  {"body": {"field": "type", "value": "fact"}}
PUT    v1/memories/<str:memory_id>/queries/<str:name>           422  422  403  422  404  404  401  {"body": 1}
POST   v1/memories/<str:memory_id>/queries/<str:name>           200  200  200  200  404  404  401  {}
POST   v1/memories/<str:memory_id>/queries/<str:name>           422  422  422  422  404  404  401  {"params": 1}
POST   v1/memories/<str:memory_id>/query                        200  200  200  200  404  404  401  {"statement": {"text": "words"}}
POST   v1/memories/<str:memory_id>/query                        422  422  422  422  404  404  401  {}
POST   v1/memories/<str:memory_id>/query                        422  422  403  422  404  404  401  {"statement": {"text": "words"}, "write": true}
GET    v1/memories/<str:memory_id>/snapshots                    200  200  200  200  404  404  401
POST   v1/memories/<str:memory_id>/snapshots                    200  200  403  200  404  404  401  {"name": "Now"}
POST   v1/memories/<str:memory_id>/snapshots                    422  422  403  422  404  404  401  {}
GET    v1/x-holds?memory={memory_id}                            200  403  403  403  404  404  401
POST   v1/x-holds                                               200  403  403  403  404  404  401  {"memory_id": "{memory_id}", "reason": "Asked."}
POST   v1/x-holds                                               404  403  403  403  404  404  401  {"memory_id": "{memory_id}", "reason": "Asked.", "record_id": "{other_id}"}
POST   v1/x-holds                                               422  403  403  403  404  404  401  {"memory_id": "{memory_id}"}
DELETE v1/x-holds/<str:hold_id>                                 200  403  403  403  404  404  401
GET    v1/x-access/who?memory={memory_id}                       200  403  403  403  404  404  401
GET    v1/x-access/what?principal={principal}                   200  200  200  200  200  404  401
GET    v1/x-access/why?memory={memory_id}&principal={principal}&privilege=read
                                                                200  403  403  403  404  404  401
GET    v1/x-access/why?memory={memory_id}                       422  403  403  403  404  404  401
GET    v1/memories/<str:memory_id>/consolidations               200  200  200  200  404  404  401
POST   v1/memories/<str:memory_id>/consolidations               200  200  403  200  404  404  401
POST   v1/memories/<str:memory_id>/consolidations               422  422  403  422  404  404  401  {"budget": 7}
GET    v1/memories/<str:memory_id>/consolidations/<str:run_id>  404  404  404  404  404  404  401
GET    v1/memories/<str:memory_id>/consolidations/<str:run_id>/changes
                                                                404  404  404  404  404  404  401
POST   v1/memories/<str:memory_id>/consolidations/<str:run_id>/revert
                                                                404  403  403  403  404  404  401
POST   v1/memories/<str:memory_id>/consolidations/<str:run_id>/revert
                                                                422  403  403  403  404  404  401  {"x_changes": 7}
GET    v1/memories/<str:memory_id>/prime                        200  200  200  200  404  404  401
GET    v1/memories/<str:memory_id>/prime?budget=0               422  422  422  422  404  404  401
GET    v1/models                                                200  200  200  200  200  200  401
GET    v1/harnesses                                             200  200  200  200  200  200  401
POST   v1/harnesses                                             200  200  200  200  200  200  401  {"base": "mcp"}
POST   v1/harnesses                                             422  422  422  422  422  422  401  {"base": "none"}
GET    v1/harnesses/<str:harness_id>                            200  200  404  404  404  404  401
PUT    v1/harnesses/<str:harness_id>                            200  200  404  404  404  404  401  {"name": "Other"}
PUT    v1/harnesses/<str:harness_id>                            422  422  404  404  404  404  401  {"colour": "red"}
DELETE v1/harnesses/<str:harness_id>                            200  200  404  404  404  404  401
GET    v1/harnesses/<str:harness_id>/models                     200  200  404  404  404  404  401
GET    v1/harnesses/<str:harness_id>/memories                   200  200  404  404  404  404  401
PUT    v1/harnesses/<str:harness_id>/memories                   200  200  404  404  404  404  401  {"observe": false}
PUT    v1/harnesses/<str:harness_id>/memories                   422  422  404  404  404  404  401  {"observe": 1}
GET    v1/harnesses/<str:harness_id>/skills/<str:skill>/files   200  200  404  404  404  404  401
GET    v1/harnesses/<str:harness_id>/x-keys                     200  200  404  404  404  404  401
POST   v1/harnesses/<str:harness_id>/x-keys                     200  200  404  404  404  404  401  {"name": "Laptop"}
POST   v1/harnesses/<str:harness_id>/x-keys                     422  422  404  404  404  404  401  {"expires_at": "soon"}
DELETE v1/harnesses/<str:harness_id>/x-keys/<str:key_id>        404  404  404  404  404  404  401
"""  # noqa: E501 - one row, one line


# The same of the pages, for people: an agent does not sign in. Nobody is led to sign-in from everywhere.
CONSOLE_CAST = ("owner", "teammate", "reader", "stranger", "foreigner", "nobody")
ORG = "console/<slug:organisation>"
ONE = f"{ORG}/memories/<str:memory_id>"
CONSOLE_TABLE = f"""
                                                          owner team reader stranger foreigner nobody
GET    console/                                             302  302  302  302  302  302
GET    console/styleguide                                   200  200  200  200  200  302
GET    {ORG}/memories                                       200  200  200  200  404  302
GET    {ORG}/memories?below={{memory_id}}                   200  200  200  404  404  302
GET    {ORG}/memories/find?q=shared                         200  200  200  200  404  302
GET    {ORG}/home                                           200  200  200  200  404  302
GET    {ORG}/search                                         200  200  200  200  404  302
GET    {ORG}/search?q=shared                                200  200  200  200  404  302
GET    {ORG}/memories/without-anybody                       200  403  403  403  404  302
GET    {ORG}/memories/new                                   200  200  200  200  404  302
POST   {ORG}/memories/new                                   302  302  302  302  404  302  name=New
POST   {ORG}/memories/new                                   422  422  422  422  404  302  name=
GET    {ONE}                                                200  200  200  404  404  302
GET    {ONE}/new                                            200  200  403  404  404  302
POST   {ONE}/new                                            302  302  403  404  404  302  name=New
POST   {ONE}/new                                            422  422  403  404  404  302  name=
GET    {ONE}/access                                         200  403  403  404  404  302
POST   {ONE}/access/give                                    302  403  403  404  404  302  principal={{principal}}&privileges=write
POST   {ONE}/access/give                                    422  403  403  404  404  302  principal=nobody
GET    {ONE}/access/<str:grant_id>/change                   200  403  403  404  404  302
GET    {ONE}/access/<str:grant_id>/change?privileges=write  200  403  403  404  404  302
POST   {ONE}/access/<str:grant_id>/change                   422  403  403  404  404  302  privileges=write&expected=other
GET    {ONE}/who                                            200  403  403  404  404  302
GET    {ONE}/who?at=2020-01-01T00:00:00Z                    200  403  403  404  404  302
GET    {ONE}/who?at=9020-01-01T00:00:00Z                    422  403  403  404  404  302
GET    {ONE}/why                                            200  403  403  404  404  302
GET    {ONE}/why?principal={{principal}}&privilege=read     200  403  403  404  404  302
GET    {ONE}/why?principal=member:x&privilege=read          422  403  403  404  404  302
GET    {ONE}/audit                                          200  403  403  404  404  302
GET    {ONE}/audit?since=yesterday                          422  403  403  404  404  302
GET    {ONE}/audit?format=csv                               200  403  403  404  404  302
GET    {ONE}/move                                           200  403  403  404  404  302
GET    {ONE}/move?to={{other_id}}                           200  403  403  404  404  302
GET    {ONE}/move?to={{unseen_id}}                          422  403  403  404  404  302
POST   {ONE}/move                                           422  403  403  404  404  302  to={{other_id}}&expected=other
GET    {ONE}/take-over                                      404  403  403  403  404  302
POST   {ONE}/take-over                                      404  403  403  403  404  302
GET    {ONE}/access/<str:grant_id>/take-back                200  403  403  404  404  302
POST   {ONE}/access/<str:grant_id>/take-back                422  403  403  404  404  302  expected=other
GET    {ONE}/restrict                                       200  403  403  404  404  302
POST   {ONE}/restrict                                       422  403  403  404  404  302  expected=other
GET    {ONE}/settings                                       200  200  403  404  404  302
POST   {ONE}/settings                                       302  302  403  404  404  302  name=Other
POST   {ONE}/settings                                       422  422  403  404  404  302  name=
GET    {ONE}/delete                                         200  403  403  404  404  302
POST   {ONE}/delete                                         422  403  403  404  404  302  confirm=Shared&expected=other
GET    {ONE}/records/<str:record_id>                        200  200  200  404  404  302
GET    {ONE}/records/<str:record_id>/content/<str:index>    404  404  404  404  404  302
GET    {ONE}/records/<str:record_id>/compare                200  200  200  404  404  302
GET    {ONE}/records/<str:record_id>/restore?version=1      200  200  403  404  404  302
POST   {ONE}/records/<str:record_id>/restore                302  302  403  404  404  302  version=1
POST   {ONE}/records/<str:record_id>/restore                422  422  403  404  404  302  version=9
GET    {ONE}/records/<str:record_id>/revise                 200  200  403  404  404  302
POST   {ONE}/records/<str:record_id>/revise                 302  302  403  404  404  302  text-0=Other.&expected_version=1
POST   {ONE}/records/<str:record_id>/revise                 422  422  403  404  404  302  text-0=&expected_version=1
GET    {ONE}/forget?record={{record_id}}                    200  200  403  404  404  302
POST   {ONE}/forget                                         302  302  403  404  404  302  record={{record_id}}
GET    {ONE}/erase?record={{record_id}}                     200  403  403  404  404  302
POST   {ONE}/erase                                          302  403  403  404  404  302  record={{record_id}}&going={{record_id}}&confirm=erase
POST   {ONE}/erase                                          422  403  403  404  404  302  record={{record_id}}&going={{record_id}}
GET    {ONE}/jobs/<str:job_id>                              404  404  404  404  404  302
GET    {ONE}/runs                                           200  200  200  404  404  302
POST   {ONE}/runs                                           302  302  403  404  404  302  unit=episodes
POST   {ONE}/runs                                           422  422  403  404  404  302  unit=episodes&limit=0
GET    {ONE}/runs/<str:run_id>                              404  404  404  404  404  302
POST   {ONE}/runs/<str:run_id>/stop                         404  404  403  404  404  302
GET    {ONE}/runs/<str:run_id>/undo                         404  403  403  404  404  302
POST   {ONE}/runs/<str:run_id>/undo                         404  403  403  404  404  302
POST   {ONE}/runs/<str:run_id>/accept                       404  403  403  404  404  302  rest=yes
GET    {ONE}/runs/<str:run_id>/sources                      404  404  404  404  404  302
GET    {ONE}/conflicts                                      200  200  200  404  404  302
GET    {ONE}/conflicts/<str:conflict_id>                    404  404  404  404  404  302
POST   {ONE}/conflicts/<str:conflict_id>                    404  404  403  404  404  302  decision=this
GET    {ONE}/schedule                                       200  200  403  404  404  302
POST   {ONE}/schedule                                       302  302  403  404  404  302  mode=nightly
POST   {ONE}/schedule                                       422  422  403  404  404  302  mode=cron&cron=daily
POST   {ONE}/schedule/engine                                302  403  403  404  404  302  engine=rules
POST   {ONE}/schedule/asks                                  302  403  403  404  404  302  mode=always&records=5
GET    {ORG}/runs                                           200  200  200  200  404  302
GET    {ORG}/schedule                                       200  403  403  403  404  302
POST   {ORG}/schedule                                       302  403  403  403  404  302  mode=off
POST   {ORG}/schedule                                       422  403  403  403  404  302  mode=
GET    {ORG}/jobs                                           200  200  200  200  404  302
GET    {ORG}/jobs?state=failed                              200  200  200  200  404  302
POST   {ORG}/jobs/<str:job_id>/retry                        404  404  404  404  404  302
POST   {ORG}/jobs/<str:job_id>/cancel                       404  404  404  404  404  302
GET    {ONE}/ask                                            200  200  200  404  404  302
GET    {ONE}/ask?q=words                                    200  200  200  404  404  302
GET    {ONE}/ask?q=words&as={{member_id}}                   200  403  200  404  404  302
GET    {ONE}/ask?q=words&as=nobody                          404  403  403  404  404  302
GET    {ONE}/ask?path=a&op=gt&value=[1                      200  200  200  404  404  302
GET    {ONE}/ask?written_from=yesterday                     422  422  422  404  404  302
GET    {ONE}/golden                                         200  200  200  404  404  302
POST   {ONE}/golden                                         302  302  403  404  404  302  question=What?&record={{record_id}}
POST   {ONE}/golden                                         422  422  403  404  404  302  question=What?&record=none
POST   {ONE}/golden/run                                     302  302  302  404  404  302
GET    {ONE}/golden/runs/<str:job_id>                       404  404  404  404  404  302
POST   {ONE}/golden/<str:golden_id>/remove                  404  404  403  404  404  302
GET    {ONE}/graph                                          200  200  200  404  404  302
GET    {ONE}/graph?around={{record_id}}&hops=2              200  200  200  404  404  302
GET    {ONE}/graph?around=none                              422  422  422  404  404  302
GET    {ONE}/holds                                          200  403  403  404  404  302
POST   {ONE}/holds                                          302  403  403  404  404  302  reason=Asked.
POST   {ONE}/holds                                          422  403  403  404  404  302  reason=
GET    {ONE}/holds/<str:hold_id>/lift                       404  403  403  404  404  302
POST   {ONE}/holds/<str:hold_id>/lift                       404  403  403  404  404  302
GET    {ONE}/snapshots                                      200  200  200  404  404  302
POST   {ONE}/snapshots                                      302  302  403  404  404  302  name=Now
POST   {ONE}/snapshots                                      422  422  403  404  404  302  name=
GET    {ONE}/records/<str:record_id>/operations/<str:name>  404  404  404  404  404  302
POST   {ONE}/records/<str:record_id>/operations/<str:name>  404  404  404  404  404  302
GET    {ONE}/records/<str:record_id>/forget                 200  200  403  404  404  302
POST   {ONE}/records/<str:record_id>/forget                 302  302  403  404  404  302
GET    {ORG}/review                                         200  200  200  200  404  302
GET    {ORG}/review?order=strongest                         200  200  200  200  404  302
GET    {ORG}/review?order=other                             400  400  400  400  404  302
GET    {ORG}/review/many?action=keep                        302  302  302  302  404  302
GET    {ORG}/review/many?action=keep&item={{item_id}}       200  200  200  200  404  302
POST   {ORG}/review/many                                    409  409  409  409  404  302  action=keep&chosen={{item_id}}:other
GET    {ORG}/review/<str:item_id>                           200  404  404  404  404  302
POST   {ORG}/review/<str:item_id>/decide                    409  404  404  404  404  302  decision=keep&shown=other
POST   {ORG}/review/<str:item_id>/decide                    422  404  404  404  404  302  decision=other
GET    {ORG}/review/<str:item_id>/edit                      200  404  404  404  404  302
POST   {ORG}/review/<str:item_id>/edit                      409  404  404  404  404  302  title=Other&shown=other
GET    {ORG}/review/<str:item_id>/merge                     200  404  404  404  404  302
POST   {ORG}/review/<str:item_id>/merge                     409  404  404  404  404  302  into={{record_id}}&shown=other
GET    {ORG}/review/<str:item_id>/move                      200  404  404  404  404  302
POST   {ORG}/review/<str:item_id>/move                      409  404  404  404  404  302  to={{other_id}}&shown=other
POST   {ORG}/review/<str:item_id>/undo                      404  404  404  404  404  302
GET    {ONE}/review                                         200  200  200  404  404  302
POST   {ONE}/review                                         409  403  403  404  404  302  act=mode&mode=hold&shown=other
GET    {ORG}/audit                                          200  403  403  403  404  302
GET    {ORG}/audit?format=jsonl                             200  403  403  403  404  302
GET    {ORG}/as/<str:member_id>                             200  200  200  200  404  302
GET    {ORG}/as/<str:member_id>?below={{memory_id}}         200  404  404  404  404  302
GET    {ORG}/as/<str:member_id>/memories/<str:memory_id>    200  404  404  404  404  302
GET    {ORG}/as/<str:member_id>/memories/<str:memory_id>?q=words
                                                            200  404  404  404  404  302
GET    {ORG}/join/<str:token>                               200  200  200  200  200  200
POST   {ORG}/join/<str:token>                               422  422  422  422  302  422
GET    {ORG}/notifications                                  200  200  200  200  404  302
POST   {ORG}/notifications                                  302  302  302  302  404  302  frequency=daily&weekday=0&hour=8&time_zone=UTC
POST   {ORG}/notifications                                  422  422  422  422  404  302  frequency=hourly
GET    {ORG}/notifications/stop/<str:digest_token>          200  200  200  200  200  200
POST   {ORG}/notifications/stop/<str:digest_token>          200  200  200  200  200  200
GET    {ORG}/notifications/webhooks                         200  403  403  403  404  302
POST   {ORG}/notifications/webhooks                         200  403  403  403  404  302  name=Chat&url=https://93.184.215.14/in&kinds=job.failed
POST   {ORG}/notifications/webhooks                         422  403  403  403  404  302  name=Chat&url=https://127.0.0.1/in&kinds=job.failed
GET    {ORG}/notifications/webhooks/<str:webhook_id>        200  404  404  404  404  302
GET    {ORG}/notifications/webhooks/<str:webhook_id>?state=failed
                                                            200  404  404  404  404  302
POST   {ORG}/notifications/webhooks/<str:webhook_id>        302  404  404  404  404  302  name=Chat&url=https://93.184.215.14/other&kinds=job.failed
POST   {ORG}/notifications/webhooks/<str:webhook_id>        422  404  404  404  404  302  name=Chat
POST   {ORG}/notifications/webhooks/<str:webhook_id>/test   302  404  404  404  404  302
POST   {ORG}/notifications/webhooks/<str:webhook_id>/rotate
                                                            200  404  404  404  404  302
POST   {ORG}/notifications/webhooks/<str:webhook_id>/pause  302  404  404  404  404  302
GET    {ORG}/notifications/webhooks/<str:webhook_id>/remove
                                                            200  404  404  404  404  302
POST   {ORG}/notifications/webhooks/<str:webhook_id>/remove
                                                            422  404  404  404  404  302  expected=other
GET    {ORG}/notifications/webhooks/<str:webhook_id>/deliveries/<str:delivery_id>
                                                            200  404  404  404  404  302
POST   {ORG}/notifications/webhooks/<str:webhook_id>/deliveries/<str:delivery_id>/again
                                                            302  404  404  404  404  302
GET    {ORG}/notifications/own                              200  200  200  200  404  302
POST   {ORG}/notifications/own                              200  200  200  200  404  302  name=Chat&url=https://93.184.215.14/in&kinds=job.failed
POST   {ORG}/notifications/own                              422  422  422  422  404  302  name=Chat&url=https://127.0.0.1/in&kinds=job.failed
GET    {ORG}/people                                         200  200  200  200  404  302
POST   {ORG}/people/add                                     302  403  403  403  404  302  name=New&type=agent
POST   {ORG}/people/add                                     422  403  403  403  404  302  name=
GET    {ORG}/people/<str:member_id>                         200  200  200  200  404  302
POST   {ORG}/people/<str:member_id>                         200  403  200  403  404  302  name=Laptop
POST   {ORG}/people/<str:member_id>                         422  403  422  403  404  302  name=
GET    {ORG}/people/invite                                  200  403  403  403  404  302
POST   {ORG}/people/invite                                  200  403  403  403  404  302  name=Nina
POST   {ORG}/people/invite                                  422  403  403  403  404  302  name=
POST   {ORG}/people/invite/<str:invitation_id>/withdraw     302  403  403  403  404  302
GET    {ORG}/people/<str:member_id>/reach                   200  200  200  200  404  302
GET    {ORG}/people/<str:member_id>/reach?show=all          200  200  200  200  404  302
GET    {ORG}/people/<str:member_id>/hand-over               200  403  403  403  404  302
POST   {ORG}/people/<str:member_id>/hand-over               302  403  403  403  404  302  to={{heir_id}}
POST   {ORG}/people/<str:member_id>/hand-over               422  403  403  403  404  302  to=nobody
GET    {ORG}/people/<str:member_id>/deactivate              200  403  403  403  404  302
POST   {ORG}/people/<str:member_id>/deactivate              422  403  403  403  404  302  expected=other
POST   {ORG}/people/<str:member_id>/reactivate              302  403  403  403  404  302
POST   {ORG}/people/<str:member_id>/keys/<str:key_id>/revoke
                                                            302  403  302  403  404  302
POST   {ORG}/groups/add                                     302  403  403  403  404  302  name=New
POST   {ORG}/groups/add                                     422  403  403  403  404  302  name=
GET    {ORG}/groups/<str:group_id>                          200  200  200  200  404  302
POST   {ORG}/groups/<str:group_id>                          302  403  403  403  404  302  member={{member_id}}
POST   {ORG}/groups/<str:group_id>                          422  403  403  403  404  302  member=
GET    {ORG}/groups/<str:group_id>/reach                    200  200  200  200  404  302
GET    {ORG}/groups/<str:group_id>/remove/<str:member_id>   200  403  403  403  404  302
POST   {ORG}/groups/<str:group_id>/remove/<str:member_id>   422  403  403  403  404  302  expected=other
GET    {ORG}/agents                                         200  200  200  200  404  302
GET    {ORG}/agents/new                                     200  200  200  200  404  302
POST   {ORG}/agents/new                                     302  302  302  302  404  302  name=New&base=mcp
POST   {ORG}/agents/new                                     422  422  422  422  404  302  name=New&base=none
GET    {ORG}/agents/<str:harness_id>                        200  200  404  404  404  302
GET    {ORG}/agents/<str:harness_id>/memory                 200  200  404  404  404  302
POST   {ORG}/agents/<str:harness_id>/memory                 302  302  404  404  404  302  observe=on
POST   {ORG}/agents/<str:harness_id>/memory                 422  422  404  404  404  302  default_memory_id={{memory_id}}
GET    {ORG}/agents/<str:harness_id>/prime                  200  200  404  404  404  302
GET    {ORG}/agents/<str:harness_id>/prime?budget=0         422  422  404  404  404  302
GET    {ORG}/agents/<str:harness_id>/connect                200  200  404  404  404  302
POST   {ORG}/agents/<str:harness_id>/connect                200  200  404  404  404  302  name=Laptop
POST   {ORG}/agents/<str:harness_id>/connect                422  422  404  404  404  302  name=
POST   {ORG}/agents/<str:harness_id>/keys/<str:key_id>/revoke
                                                            404  404  404  404  404  302
GET    {ORG}/agents/<str:harness_id>/try                    200  200  404  404  404  302
POST   {ORG}/agents/<str:harness_id>/try                    200  200  404  404  404  302  tool=memory_list
POST   {ORG}/agents/<str:harness_id>/try                    422  422  404  404  404  302  tool=memory_list&arguments=[]
GET    {ORG}/agents/<str:harness_id>/delete                 200  200  404  404  404  302
POST   {ORG}/agents/<str:harness_id>/delete                 422  422  404  404  404  302  expected=other
"""  # noqa: E501 - one row, one line

# Everything else: what a load balancer asks, the way in, and what no route of the protocol matches.
OTHER = {"healthz", "readyz", "", "mcp", r"^v1(?:/|$)"}
SIGN_IN = "/accounts/login/"
# Masked anew in every page.
CSRF_TOKEN = re.compile(rb"\b[A-Za-z0-9]{64}\b")


@dataclass(frozen=True)
class Row:
    """One request and what it answers to each of the cast."""

    method: str
    path: str
    statuses: Mapping[str, int]
    body: str

    @property
    def route(self) -> str:
        """The route as the URL configuration writes it."""
        return self.path.partition("?")[0]


def read_table(table: str, cast: tuple[str, ...]) -> list[Row]:
    found = re.findall(r"^([A-Z]+) +(\S+)\s+((?:\d{3} *)+) *(.*)$", table, re.MULTILINE)
    rows = [
        Row(method, path, dict(zip(cast, map(int, numbers.split()), strict=True)), body)
        for method, path, numbers, body in found
    ]
    assert len(rows) == len(re.findall(r"^[A-Z]+ ", table, re.MULTILINE)), "a row could not be read"
    return rows


ROWS = read_table(TABLE, CAST)
CONSOLE_ROWS = read_table(CONSOLE_TABLE, CONSOLE_CAST)
UNKNOWN = dict.fromkeys(CAST, 404)
WITH_SKILL = Draft(base="mcp", skills=read_skills([{"name": "greet", "content": "Say hello."}]))


def routes(resolver: URLResolver | None = None, before: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Every route of the server, however deeply included, as the path it matches."""
    for entry in (resolver or get_resolver()).url_patterns:
        route = before + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from routes(entry, route)
        else:
            yield route, entry


def methods(entry: URLPattern) -> set[str]:
    """The methods that a class-based view takes."""
    view = getattr(entry.callback, "cls", None) or getattr(entry.callback, "view_class", None)
    return {method.upper() for method in ("get", "post", "put", "patch", "delete") if hasattr(view, method)}


def protocol_routes() -> dict[str, set[str]]:
    return {route: methods(entry) for route, entry in routes() if route.startswith("v1/")}


def stored() -> tuple[str, ...]:
    """A digest of everything that is stored in the tree, table by table."""
    tables = [model._meta.db_table for model in (Memory, Reach, Grant, Record, Version, Embedding)]
    digests = [f"(SELECT md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM {table} t)" for table in tables]  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(digests)}")
        return tuple(cursor.fetchone())


def fill(text: str, names: Mapping[str, str]) -> str:
    """Put ids where the table names them."""
    for name, value in names.items():
        text = text.replace(f"{{{name}}}", value)
    return text


class Request(Protocol):
    """Sends a request as one of the cast."""

    def __call__(self, who: str, method: str, path: str, body: str) -> Answer: ...


@dataclass(frozen=True)
class Sweep:
    """The shared memory, what is in it, and a way to ask for it as anyone."""

    request: Request
    names: Mapping[str, str]

    def send(self, row: Row, who: str, **renamed: str) -> Answer:
        """Send the request of a row, and undo what it did; a refused one must have done nothing."""
        names = {**self.names, **renamed}
        path = fill(re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", row.path), names)
        with transaction.atomic():
            before = stored() if row.statuses[who] >= 400 else None
            answer = self.request(who, row.method, f"/{path}", fill(row.body, names))
            assert before is None or stored() == before, f"{row.method} {path} was refused and changed something"
            transaction.set_rollback(True)
        return answer

    def wrong(self, rows: list[Row]) -> list[str]:
        """The answers that are not what the table says, as sentences."""
        found = []
        for row in rows:
            for who, expected in row.statuses.items():
                answer = self.send(row, who)
                if answer.status != expected or to_sign_in(answer) != (expected == 302 and who == "nobody"):
                    asked = f"{row.method} {row.path} {row.body}".strip()
                    found.append(f"{asked}: {who} got {answer.status}, not {expected}")
        return found


def to_sign_in(answer: Answer) -> bool:
    return answer.headers.get("Location", "").startswith(SIGN_IN)


@pytest.fixture
def names(shared: Memory, alice: Member, carol: Member, stranger: Member, team: Group) -> dict[str, str]:
    """What the tables name, by name."""
    record = factories.record(alice, shared, "Words to be found.")
    factories.record(team.members.get(type="agent"), shared, "Words to be looked at.")
    invitation = invite(alice.organisation, name="Nina")
    factories.record(alice, factories.memory(alice, shared, restricted=True), "Kept from the team.")
    reembed.sweep()
    queries.define(look(factories.caller(alice), shared.id), "0", read_definition({"body": {"text": "words"}}))
    hook = factories.webhook(alice).webhook
    held = factories.memory(alice)
    for holder in (team, carol):
        factories.grant(alice, held, holder, "read", "write", "create")
    return {
        "hold_id": place_hold(look(factories.caller(alice), held.id), "Asked.").id,
        "organisation": alice.organisation.slug,
        "memory_id": shared.id,
        "record_id": record.id,
        "webhook_id": hook.id,
        "delivery_id": webhooks.try_out(factories.caller(alice), hook.id).id,
        "digest_token": digests.token_of(carol),
        "item_id": ReviewItem.objects.get(memory=shared).id,
        "grant_id": Grant.objects.get(principal=carol.principal, memory=shared).id,
        "other_id": factories.memory(alice).id,
        "unseen_id": factories.memory(stranger).id,
        "principal": stranger.principal,
        "member_id": carol.id,
        "key_id": issue_key(carol).credential.id,
        "group_id": team.id,
        "heir_id": stranger.id,
        "harness_id": create_harness(factories.caller(team.members.get(type="human")), WITH_SKILL).id,
        "skill": "greet",
        "token": invitation.token,
        "invitation_id": invitation.invitation.id,
        **dict.fromkeys(("index", "name", "job_id", "golden_id", "run_id", "conflict_id"), "0"),
    }


@pytest.fixture
def sweep(
    api: Api,
    names: dict[str, str],
    alice: Member,
    bob: Member,
    carol: Member,
    agent: Member,
    stranger: Member,
    mallory: Member,
) -> Sweep:
    """The protocol, asked with keys."""
    people = dict(zip(CAST, (alice, bob, carol, agent, stranger, mallory, None), strict=True))
    for person in people.values():
        if person:
            api.get("/v1/memories", person)

    def request(who: str, method: str, path: str, body: str) -> Answer:
        return api.call(method, path, body or None, as_=people[who])

    return Sweep(request, names)


@pytest.fixture
def console(
    names: dict[str, str], alice: Member, bob: Member, carol: Member, stranger: Member, mallory: Member
) -> Sweep:
    """The pages, asked in sessions."""
    clients = {who: Client() for who in CONSOLE_CAST}
    for who, member in zip(CONSOLE_CAST, (alice, bob, carol, stranger, mallory), strict=False):
        member.user = User.objects.create_user(f"{who}@example.com")
        member.save()
        clients[who].force_login(member.user)

    def request(who: str, method: str, path: str, body: str) -> Answer:
        client = clients[who]
        response = client.generic(method, path, body, content_type="application/x-www-form-urlencoded")
        client.cookies.pop("messages", None)
        raw = b"".join(getattr(response, "streaming_content", ())) if response.streaming else response.content
        return Answer(response.status_code, CSRF_TOKEN.sub(b"", raw), dict(response.headers))

    return Sweep(request, names)


def test_every_route_of_the_protocol_has_a_row() -> None:
    asked = {(row.method, row.route) for row in ROWS}
    served = {(method, route) for route, taken in protocol_routes().items() for method in taken}
    assert asked == served
    assert len(served) >= 44


def test_every_method_of_a_route_without_one_is_refused_to_all_who_are_known(sweep: Sweep) -> None:
    refused = 0
    for route, taken in protocol_routes().items():
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - taken:
            answer = sweep.send(Row(method, route, dict.fromkeys(CAST, 405), ""), "owner")
            assert (answer.status, answer.error["code"]) == (405, "heartwood_method_not_allowed"), f"{method} {route}"
            refused += 1
    assert refused > 100


def test_every_route_answers_each_of_the_cast_as_the_table_says(sweep: Sweep) -> None:
    wrong = sweep.wrong(ROWS)
    assert not wrong, "\n".join(wrong)


def test_every_answer_carries_the_version_and_an_object(sweep: Sweep) -> None:
    for row in ROWS:
        answer = sweep.send(row, "reader")
        assert answer.headers["UHP-Version"] == "2026-10-19"
        assert isinstance(answer.json, dict)


def test_an_unseen_memory_is_a_made_up_one_to_the_byte(sweep: Sweep) -> None:
    compared = 0
    for row in ROWS:
        if row.statuses["stranger"] == 404:
            made_up = sweep.send(row, "stranger", memory_id=mint("hmem_"))
            for who in ("stranger", "foreigner"):
                unseen = sweep.send(row, who)
                assert (unseen.raw, unseen.headers) == (made_up.raw, made_up.headers), f"{row} as {who}"
                compared += 1
    assert compared >= 112


@pytest.mark.parametrize("made_up", ["hmem_", "1", "nobody's", "%00", "%ff", "hmem_" + "0" * 32, "H" * 2000])
def test_an_id_of_any_shape_is_an_unknown_one(sweep: Sweep, made_up: str) -> None:
    for row in ROWS:
        if "memory_id" in row.path and row.statuses["owner"] == 200 and row.method != "POST":
            answer = sweep.send(replace(row, statuses=UNKNOWN), "owner", memory_id=made_up)
            assert (answer.status, answer.error["code"]) == (404, "memory_not_found"), f"{row} with {made_up}"


def failures(sweep: Sweep, rows: list[Row]) -> list[str]:
    """Requests that make the server fail, of those in which one name of the path is a character no text may hold."""
    found = []
    for row in rows:
        for name in re.findall(r"<(?:\w+:)?(\w+)>", row.path):
            if name != "organisation" and (answer := sweep.send(row, "owner", **{name: "%00"})).status >= 500:
                found.append(f"{row.method} {row.path} with {name}: {answer.status}")
    return found


def test_no_name_in_a_path_makes_the_server_fail(sweep: Sweep) -> None:
    assert not failures(sweep, [replace(row, statuses=dict.fromkeys(row.statuses, 200)) for row in ROWS])


def test_an_unseen_new_parent_is_a_made_up_one_to_the_byte(sweep: Sweep) -> None:
    for row in ROWS:
        if "unseen_id" in row.body:
            unseen, made_up = sweep.send(row, "owner"), sweep.send(row, "owner", unseen_id=mint("hmem_"))
            assert (made_up.raw, made_up.headers) == (unseen.raw, unseen.headers)
            break
    else:
        raise AssertionError("no row moves a memory under an unseen one")


def test_a_record_of_another_memory_is_a_made_up_one_to_the_byte(sweep: Sweep, alice: Member) -> None:
    elsewhere = factories.record(alice, factories.memory(alice), "Alice reads this, too, but not from here.")
    compared = 0
    for row in ROWS:
        if "record_id" in row.path and row.statuses["owner"] == 200:
            other, made_up = (sweep.send(row, "owner", record_id=one) for one in (elsewhere.id, mint("hrec_")))
            assert (other.status, other.error["code"]) == (404, "memory_record_not_found")
            assert (other.raw, other.headers) == (made_up.raw, made_up.headers)
            compared += 1
    assert compared == 4


def test_a_grant_that_sits_elsewhere_is_a_made_up_one_to_the_byte(sweep: Sweep, alice: Member) -> None:
    below = factories.memory(alice, Memory.objects.get(pk=sweep.names["memory_id"]))
    for row in ROWS:
        if "grant_id" in row.path:
            inherited = sweep.send(row, "owner", memory_id=below.id)
            made_up = sweep.send(row, "owner", memory_id=below.id, grant_id=mint("hgrt_"))
            assert inherited.status == 404
            assert (inherited.raw, inherited.headers) == (made_up.raw, made_up.headers)


def test_below_v1_nothing_but_the_routes_answers(api: Api, alice: Member) -> None:
    for path in ("/v1", "/v1/", "/v1/memories/", "/v1/nothing", "/v1/memories/providers/x/y/z"):
        for who in (alice, None):
            answer = api.call("GET", path, as_=who)
            assert (answer.status, answer.error["code"]) == (404, "heartwood_route_not_found"), path


def pages() -> set[str]:
    return {route for route, _ in routes() if route.startswith("console/")}


def test_every_page_has_a_row() -> None:
    assert {row.route for row in CONSOLE_ROWS} == pages()
    assert len(pages()) >= 51


def test_no_name_in_the_path_of_a_page_makes_the_server_fail(console: Sweep) -> None:
    assert not failures(console, [replace(row, statuses=dict.fromkeys(row.statuses, 200)) for row in CONSOLE_ROWS])


def test_every_page_answers_each_of_the_cast_as_the_table_says(console: Sweep) -> None:
    wrong = console.wrong(CONSOLE_ROWS)
    assert not wrong, "\n".join(wrong)


def test_a_page_takes_the_methods_of_its_rows_and_no_other(console: Sweep) -> None:
    for route in pages() - {"console/styleguide"}:
        taken = {row.method for row in CONSOLE_ROWS if row.route == route}
        for method in {"GET", "POST", "PUT", "DELETE"} - taken:
            refused = Row(method, route, dict.fromkeys(CONSOLE_CAST, 405), "")
            assert console.send(refused, "owner").status == 405, f"{method} {route}"


def test_the_page_of_an_unseen_memory_or_webhook_is_that_of_a_made_up_one_to_the_byte(console: Sweep) -> None:
    compared, made_ups = 0, {"memory_id": mint("hmem_"), "webhook_id": mint("whk_")}
    for row in CONSOLE_ROWS:
        if row.statuses["stranger"] == 404:
            unseen, made_up = console.send(row, "stranger"), console.send(row, "stranger", **made_ups)
            assert (unseen.raw, unseen.headers) == (made_up.raw, made_up.headers), row
            compared += 1
    assert compared == 135


def test_the_pages_of_another_organisation_are_those_of_a_made_up_one_to_the_byte(console: Sweep) -> None:
    for row in CONSOLE_ROWS:
        if row.statuses["foreigner"] == 404:
            unseen, made_up = console.send(row, "foreigner"), console.send(row, "foreigner", organisation="made-up")
            assert (unseen.raw, unseen.headers) == (made_up.raw, made_up.headers), row


def test_there_is_nothing_else() -> None:
    swept = set(protocol_routes()) | pages()
    rest = {route for route, _ in routes()} - swept
    assert {route for route in rest if not route.startswith("accounts/")} == OTHER
