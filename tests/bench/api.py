"""The pizza API without its controller: a CREATE is one write, as it is of the peers that it is measured beside."""

from __future__ import annotations

from extapi import Api
from extapi.pizza import api as pizza

api = Api(*pizza.groups, admission=pizza.admission)
