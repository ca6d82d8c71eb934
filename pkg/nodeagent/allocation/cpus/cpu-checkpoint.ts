/** The file `cpu_manager_state` of 1.24 (cpumanager/state): its second version is written, both are read. Pure. */

import { messageOf } from '#apimachinery/errors/message.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import { goJson } from '#apimachinery/go-json.js';
import { checksum, printMap } from '#nodeagent/allocation/checkpoint/checksum.js';
import {
  corrupted,
  countOf,
  type Members,
  membersOf,
  parseMembers,
  textOf,
} from '#nodeagent/allocation/checkpoint/members.js';
import { type CPUSet, formatCPUs, parseCPUs } from '#nodeagent/allocation/cpus/cpu-set.js';
import { CPUState } from '#nodeagent/allocation/cpus/cpu-state.js';

/** The container that an ID belongs to, in files of the first version. */
export interface ContainerRef {
  readonly uid: string;
  readonly name: string;
}

type Entries = ReadonlyMap<string, ReadonlyMap<string, string>>;

export function cpuCheckpoint(policy: string, { shared, assignments }: CPUState): string {
  const entries = new Map(
    [...assignments].map(([uid, containers]) => [
      uid,
      new Map([...containers].map(([name, cpus]) => [name, formatCPUs(cpus)])),
    ]),
  );
  const cpus = formatCPUs(shared);
  const sum = checksum(printed({ policy, cpus, entries: printedEntries(entries) }));
  const members = Object.fromEntries([...entries].map(([uid, containers]) => [uid, Object.fromEntries(containers)]));
  const middle = entries.size === 0 ? '' : `"entries":${goJson(members)},`;
  return `{"policyName":${goJson(policy)},"defaultCpuSet":${goJson(cpus)},${middle}"checksum":${sum}}`;
}

/** Throws Error with the words of 1.24. `refs`: containers by ID, for files of the first version. */
export async function readCPUCheckpoint(
  text: string,
  policy: string,
  refs: () => Promise<ReadonlyMap<string, ContainerRef>>,
): Promise<CPUState> {
  const members = parseMembers(text);
  const first = firstVersion(members);
  const entries =
    first === undefined ? secondVersion(members) : migrated(first, first.size === 0 ? new Map() : await refs());
  const itsPolicy = textOf(members['policyName'], 'CPUManagerCheckpoint.policyName of type string');
  if (policy !== itsPolicy) {
    throw new Error(`configured policy ${quoted(policy)} differs from state checkpoint policy ${quoted(itsPolicy)}`);
  }
  const cpus = textOf(members['defaultCpuSet'], 'CPUManagerCheckpoint.defaultCpuSet of type string');
  const shared = parsed(cpus, `could not parse default cpu set ${quoted(cpus)}`);
  const assignments = [...entries].map(([uid, containers]) => {
    const sets = [...containers].map(([name, list]): [string, CPUSet] => [
      name,
      parsed(list, `could not parse cpuset ${quoted(list)} for container ${quoted(name)} in pod ${quoted(uid)}`),
    ]);
    return [uid, new Map(sets)] as const;
  });
  return new CPUState(shared, new Map(assignments));
}

function parsed(text: string, failure: string): CPUSet {
  try {
    return parseCPUs(text);
  } catch (error) {
    throw new Error(`${failure}: ${messageOf(error)}`, { cause: error });
  }
}

/** Text by container ID; undefined if the file is not of the first version. */
function firstVersion(members: Members): ReadonlyMap<string, string> | undefined {
  const entries = Object.entries(membersOf(members['entries'], 'CPUManagerCheckpoint.entries'));
  if (!entries.every((entry): entry is [string, string] => typeof entry[1] === 'string')) return undefined;
  const byID = new Map(entries);
  const text = printed({ ...headOf(members), entries: `(map[string]string)${printMap(byID, String)}` });
  return isIntact(members, text) ? byID : undefined;
}

function secondVersion(members: Members): Entries {
  const entries = Object.entries(membersOf(members['entries'], 'CPUManagerCheckpoint.entries')).map(
    ([uid, containers]) => {
      const where = 'CPUManagerCheckpoint.entries of type map[string]string';
      const texts = Object.entries(membersOf(containers, where)).map(([name, cpus]): [string, string] => [
        name,
        textOf(cpus, 'CPUManagerCheckpoint.entries of type string'),
      ]);
      return [uid, new Map(texts)] as const;
    },
  );
  const byUID = new Map(entries);
  if (!isIntact(members, printed({ ...headOf(members), entries: printedEntries(byUID) }))) throw new Error(corrupted);
  return byUID;
}

function migrated(byID: ReadonlyMap<string, string>, refs: ReadonlyMap<string, ContainerRef>): Entries {
  const entries = new Map<string, Map<string, string>>();
  for (const [id, cpus] of byID) {
    const ref = refs.get(id);
    if (ref === undefined) {
      const problem = `containerID '${id}' not found in initial containers list`;
      throw new Error(`error migrating v1 checkpoint state to v2 checkpoint state: ${problem}`);
    }
    const containers = entries.get(ref.uid) ?? new Map<string, string>();
    entries.set(ref.uid, containers.set(ref.name, cpus));
  }
  return entries;
}

/** Old files have no checksum. */
function isIntact(members: Members, text: string): boolean {
  const sum = countOf(members['checksum'], 'CPUManagerCheckpoint.checksum of type checksum.Checksum');
  return sum === 0 || sum === checksum(text);
}

function headOf(members: Members): { readonly policy: string; readonly cpus: string } {
  return {
    policy: textOf(members['policyName'], 'CPUManagerCheckpoint.policyName of type string'),
    cpus: textOf(members['defaultCpuSet'], 'CPUManagerCheckpoint.defaultCpuSet of type string'),
  };
}

function printedEntries(entries: Entries): string {
  const containers = (each: ReadonlyMap<string, string>) => printMap(each, String);
  return `(map[string]map[string]string)${printMap(entries, containers)}`;
}

/** In Go's syntax. The first version hashes the name of the second one, too. */
function printed({ policy, cpus, entries }: { policy: string; cpus: string; entries: string }): string {
  const members = `PolicyName:(string)${policy} DefaultCPUSet:(string)${cpus} Entries:${entries}`;
  return `(*state.CPUManagerCheckpoint){${members} Checksum:(checksum.Checksum)0}`;
}
