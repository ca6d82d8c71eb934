/** Runs ipset(8): changes and lists sets. */
import type { MemberSet, SetChange, SetListing } from '#proxy/ipset/set-state.js';
import { isProgramMissing, ProgramError, type RunWithInput } from '#proxy/program/run-program.js';
import type { Family } from '#proxy/services/proxy-settings.js';

/** Limit of a set's members; the program's default is 65,536. */
const maxMembers = 1_048_576;
const familyNames: Readonly<Record<Family, string>> = { IPv4: 'inet', IPv6: 'inet6' };

export class Ipset {
  readonly #run: RunWithInput;
  /** Names of sets that were still in use when they should have been destroyed. */
  readonly #left = new Set<string>();

  constructor(run: RunWithInput) {
    this.#run = run;
  }

  /** Whether the program exists and the kernel supports sets. */
  async works(): Promise<boolean> {
    try {
      await this.#run('ipset', ['list', '-name']);
      return true;
    } catch (error) {
      if (isProgramMissing(error) || error instanceof ProgramError) return false;
      throw error;
    }
  }

  /** @param isOwn Recognizes our sets by name. */
  async list(isOwn: (name: string) => boolean): Promise<SetListing> {
    return parseSets(await this.#run('ipset', ['save']), isOwn);
  }

  /** Creates sets and changes members. Not atomic: the first failing line ends it. */
  async change(change: SetChange): Promise<void> {
    for (const { name } of change.created) this.#left.delete(name);
    const text = setText(change);
    if (text !== '') await this.#run('ipset', ['-exist', 'restore'], text);
  }

  /**
   * Destroys sets. Rules that were just deleted may use them for a moment; such sets are destroyed by the next call.
   */
  async destroy(names: readonly string[]): Promise<void> {
    for (const name of names) this.#left.add(name);
    for (const name of [...this.#left]) {
      try {
        await this.#run('ipset', ['destroy', name]);
      } catch (error) {
        if (!(error instanceof ProgramError)) throw error;
        if (!/does not exist/.test(error.message)) continue;
      }
      this.#left.delete(name);
    }
  }
}

/** Input of `ipset -exist restore`. Pure. */
export function setText({ added, created, removed }: SetChange): string {
  const lines = [
    ...created.flatMap(({ family, name, type }: MemberSet) => [
      `create ${name} ${type} family ${familyNames[family]} maxelem ${maxMembers}`,
      // A set of this name may exist.
      `flush ${name}`,
    ]),
    ...added.map(({ key, set }) => `add ${set} ${key}`),
    ...removed.map(({ key, set }) => `del ${set} ${key}`),
  ];
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

/** Parses `ipset save`. Pure. */
export function parseSets(text: string, isOwn: (name: string) => boolean): SetListing {
  const sets = new Map<string, Set<string>>();
  for (const line of text.split('\n')) {
    const [command, name = '', key = ''] = line.split(' ');
    if (command === 'create' && isOwn(name)) sets.set(name, new Set());
    if (command === 'add') sets.get(name)?.add(key);
  }
  return sets;
}
