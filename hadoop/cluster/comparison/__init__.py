"""The parts of hadoop/cluster/demo.py."""
