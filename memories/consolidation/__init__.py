"""Consolidation: what an engine makes of new episodes, as proposals that a run then writes."""
