"""Actors and jobs on Ray. Ray is known here and nowhere else; the actors' own classes are in `memory_actors.actors`."""
