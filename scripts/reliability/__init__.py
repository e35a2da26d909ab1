"""The parts of scripts/reliability.py."""
