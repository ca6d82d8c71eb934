/** Derives findings about an upgrade from facts. Allows the version skew of release 1.24. Pure. */
import type { StoredObjects } from '#cluster/upgrade/stored-objects.js';

export interface UpgradeFacts {
  /** Versions, such as `v1.24.0`, of these programs and of the running API server. */
  readonly own: string;
  readonly running: string;
  /** `--rollback` was given. */
  readonly isRollback: boolean;
  /** Servers are upgraded before nodes. */
  readonly role: 'server' | 'node';
  readonly nodes: readonly NodeFacts[];
  /** Undefined on a node, and for a foreign etcd. */
  readonly stored: StoredObjects | undefined;
  readonly etcd: EtcdFacts | undefined;
  /** APIs that were requested since the API server started, with the release that removes them. */
  readonly deprecated: readonly { readonly name: string; readonly removedIn: string }[];
  /** Space for the backup; bytes. */
  readonly disk: { readonly folder: string; readonly free: number; readonly needed: number } | undefined;
}

export interface NodeFacts {
  readonly name: string;
  /** Version of its agent. */
  readonly version: string;
  readonly isReady: boolean;
}

export interface EtcdFacts {
  readonly alarms: readonly string[];
  /** Names of members that do not answer. */
  readonly away: readonly string[];
}

export interface Finding {
  /** Blocks the upgrade; other findings are for information. */
  readonly blocks: boolean;
  readonly what: string;
  readonly remedy: string;
}

/** Minor releases that an agent may lag behind its servers; it must never be ahead. */
const agentSkew = 2;
/** Items that a finding lists; the rest are counted. */
const maxListed = 5;

/** Blocking findings come first. */
export function findingsOf(facts: UpgradeFacts): Finding[] {
  const findings = [
    ...versions(facts),
    ...agents(facts),
    ...stored(facts),
    ...etcd(facts),
    ...deprecated(facts),
    ...disk(facts),
  ];
  return findings.sort((a, b) => Number(b.blocks) - Number(a.blocks));
}

function* versions({ own, running, isRollback, role }: UpgradeFacts): Generator<Finding> {
  const [mine, theirs] = [parseRelease(own), parseRelease(running)];
  if (mine === undefined || theirs === undefined) {
    yield {
      blocks: true,
      what: `the API server says that it is ${JSON.stringify(running)}, which is no release`,
      remedy: 'check which program answers: orchctl version',
    };
    return;
  }
  const ahead = minorsAhead(mine, theirs);
  if (role === 'node') {
    if (ahead > 0)
      yield {
        blocks: true,
        what: `this node would be ${own}, ahead of its API server (${running})`,
        remedy: 'upgrade the servers first',
      };
    if (ahead < -agentSkew)
      yield {
        blocks: true,
        what: `this node would be ${own}, more than ${agentSkew} minor releases behind its API server (${running})`,
        remedy: `use a release from v${theirs.major}.${theirs.minor - agentSkew} on`,
      };
    return;
  }
  if (ahead > 1)
    yield {
      blocks: true,
      what: `from ${running} to ${own} are ${Number.isFinite(ahead) ? `${ahead} minor releases` : 'different major releases'}`,
      remedy: 'upgrade one minor release after the other',
    };
  if (compareReleases(mine, theirs) < 0 && !isRollback)
    yield {
      blocks: true,
      what: `${own} is older than the running ${running}`,
      remedy: 'to go back to it on purpose: --rollback',
    };
  if (isRollback && ahead < -1)
    yield {
      blocks: true,
      what: `from ${running} back to ${own} is more than one minor release`,
      remedy: 'restore a backup of that release: orch backup list',
    };
}

function* agents({ own, role, nodes }: UpgradeFacts): Generator<Finding> {
  const mine = parseRelease(own);
  if (role === 'node' || mine === undefined) return;
  for (const { name, version, isReady } of nodes) {
    const agent = parseRelease(version);
    if (!isReady)
      yield {
        blocks: false,
        what: `node ${name} is not Ready`,
        remedy: `see why: orchctl describe node ${name}`,
      };
    if (agent === undefined) continue;
    const behind = minorsAhead(mine, agent);
    if (behind > agentSkew)
      yield {
        blocks: true,
        what: `node ${name} runs ${version}: more than ${agentSkew} minor releases behind ${own}`,
        remedy: `upgrade that node first, to v${mine.major}.${mine.minor - agentSkew} or later`,
      };
    if (behind < 0)
      yield {
        blocks: true,
        what: `node ${name} runs ${version}, ahead of ${own}`,
        remedy: 'roll back the nodes first',
      };
  }
}

function* stored({ own, stored: objects }: UpgradeFacts): Generator<Finding> {
  if (objects === undefined) return;
  const { unreadable, unknownTypes } = objects;
  if (unreadable.length > 0)
    yield {
      blocks: true,
      what: `${own} cannot read ${listed(unreadable.map(({ key, problem }) => `${key} (${problem})`))}`,
      remedy: 'write these objects again with the running release, or delete them',
    };
  for (const { type, objects: count } of unknownTypes)
    yield {
      blocks: true,
      what: `${count} objects are stored as ${type}, which ${own} does not know`,
      remedy: 'store them in a version that both releases serve, or delete them',
    };
}

function* etcd({ etcd: facts }: UpgradeFacts): Generator<Finding> {
  if (facts === undefined) return;
  if (facts.alarms.length > 0)
    yield {
      blocks: true,
      what: `etcd has raised ${facts.alarms.join(', ')}`,
      remedy: 'find the member and the reason with: orch etcd status',
    };
  if (facts.away.length > 0)
    yield {
      blocks: true,
      what: `these members of etcd do not answer: ${facts.away.join(', ')}`,
      remedy: 'wait for them, or repair them; see: orch etcd status',
    };
}

function* deprecated({ own, deprecated: requested }: UpgradeFacts): Generator<Finding> {
  const mine = parseRelease(own);
  if (mine === undefined) return;
  for (const { name, removedIn } of requested) {
    const removed = parseRelease(`${removedIn.replace(/^v/, '')}.0`);
    if (removed === undefined || compareReleases(removed, mine) > 0) continue;
    yield {
      blocks: false,
      what: `${name} was requested, which ${removedIn} and later do not serve`,
      remedy: 'change its clients; the audit log names them',
    };
  }
}

function* disk({ disk: facts }: UpgradeFacts): Generator<Finding> {
  if (facts === undefined || facts.free >= facts.needed) return;
  const megabytes = (bytes: number) => `${Math.ceil(bytes / 1e6)} MB`;
  yield {
    blocks: true,
    what: `the backup before the upgrade needs ${megabytes(facts.needed)} in ${facts.folder}, where ${megabytes(facts.free)} are free`,
    remedy: 'free some space, name another folder with --backup-to, or skip the backup with --backup=false',
  };
}

function listed(items: readonly string[]): string {
  const more = items.length - maxListed;
  return `${items.slice(0, maxListed).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

interface Release {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** Parses `v1.24.0` and `v1.24.0-rc.1+abc`, the forms of `/version` and of nodes; undefined for other texts. */
function parseRelease(text: string): Release | undefined {
  const [, major, minor, patch] = /^v?(\d{1,5})\.(\d{1,5})\.(\d{1,5})(?:[-+].*)?$/.exec(text) ?? [];
  if (major === undefined || minor === undefined || patch === undefined) return undefined;
  return { major: Number(major), minor: Number(minor), patch: Number(patch) };
}

/** Negative when `a` is older than `b`. */
function compareReleases(a: Release, b: Release): number {
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch;
}

/** Minor releases by which `a` is ahead of `b`; infinite for different major releases. */
function minorsAhead(a: Release, b: Release): number {
  if (a.major !== b.major) return a.major > b.major ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  return a.minor - b.minor;
}
