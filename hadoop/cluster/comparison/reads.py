"""What was read of the text, and from where: by the DataNodes' own log of each read, which knows
neither jobs nor input formats, so that all ways of making splits are measured alike."""

import re

READ = re.compile(r"src: /([\d.]+):\d+, dest: /([\d.]+):\d+, .*?bytes: (\d+), op: HDFS_READ, "
                  r".*blockid: \S+:(blk_\d+)_")
BLOCK = re.compile(r":(blk_\d+)_")


def parsed(lines, blocks):
    """Bytes that were read of these blocks on their own host, and over the network."""
    local = remote = 0
    for line in lines:
        match = READ.search(line)
        if match and match[4] in blocks:
            if match[1] == match[2]:
                local += int(match[3])
            else:
                remote += int(match[3])
    return local, remote


class Reads:
    """The reads of a file since it was last asked."""

    def __init__(self, cluster, path):
        found = cluster.run("hdfs", "fsck", path, "-files", "-blocks")
        self.blocks = frozenset(BLOCK.findall(found))
        self.logs = sorted(cluster.home.glob("*/log/datanode.log"))
        self.places = dict.fromkeys(self.logs, 0)
        self.since()

    def since(self):
        """Bytes read on their own host, and over the network."""
        lines = []
        for log in self.logs:
            with open(log, "rb") as stream:
                stream.seek(self.places[log])
                part = stream.read()
            whole = part[:part.rfind(b"\n") + 1]
            self.places[log] += len(whole)
            lines += whole.decode(errors="replace").splitlines()
        return parsed(lines, self.blocks)
