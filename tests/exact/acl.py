"""POSIX ACLs as the kernel stores them in xattrs: a list of (tag, perm, id). Order and duplicates are kept."""
import struct

ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
USER_OBJ, USER, GROUP_OBJ, GROUP, MASK, OTHER = 1, 2, 4, 8, 16, 32
NO_ID = 0xFFFFFFFF


def pack(entries):
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries)


def unpack(raw):
    return [struct.unpack_from("<HHI", raw, at) for at in range(4, len(raw), 8)]


def group_class(entries):
    """The tag whose permissions the mode shows as the group's."""
    return MASK if any(tag == MASK for tag, _, _ in entries) else GROUP_OBJ


def mode_of(entries):
    perms = {tag: perm for tag, perm, _ in entries}
    return perms[USER_OBJ] << 6 | perms[group_class(entries)] << 3 | perms[OTHER]


def names(entry, agent):
    """Whether the entry is the agent's or one of its groups'."""
    return entry[0] == USER and entry[2] == agent.uid or entry[0] == GROUP and entry[2] in agent.groups


def without(raw, agent):
    """The same bytes without the named entries of one account and its groups."""
    return None if raw is None else pack([e for e in unpack(raw) if not names(e, agent)])


def random_entries(rng, uids, gids, size=None):
    """A valid ACL. Named entries come in any order, some twice: the kernel checks the order of tags only."""
    users = [(USER, rng.randrange(8), rng.choice(uids)) for _ in range(rng.choice((0, 1, 1, 2, 3)) if size is None else size)]
    groups = [(GROUP, rng.randrange(8), rng.choice(gids)) for _ in range(rng.choice((0, 0, 1, 2)) if size is None else size)]
    if rng.random() < 0.5:
        users.sort(key=lambda e: e[2])
    entries = [(USER_OBJ, rng.choice((7, 7, 6, 5, 4, 0)), NO_ID)] + users
    entries += [(GROUP_OBJ, rng.randrange(8), NO_ID)] + groups
    if users or groups or rng.random() < 0.3:
        entries.append((MASK, rng.randrange(8), NO_ID))
    return entries + [(OTHER, rng.randrange(8), NO_ID)]
