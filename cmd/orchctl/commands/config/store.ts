/** The client configuration files that the config commands read and change. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { type Kubeconfig, parseKubeconfig } from '#client/kubeconfig/file.js';
import { mergeKubeconfigs } from '#client/kubeconfig/merge.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { yamlText } from '#cmd/orchctl/print/yaml/emit.js';

export type Section = 'clusters' | 'contexts' | 'users';

interface StoredFile {
  readonly path: string;
  readonly config: Kubeconfig;
}

/** Files in their order; missing ones are empty. */
export class ConfigStore {
  readonly #files: readonly StoredFile[];

  constructor({ env, values }: Pick<Invocation, 'env' | 'values'>) {
    this.#files = pathsOf(values.string('config') ?? '', env).map((path) => ({ path, config: readConfig(path) }));
  }

  /** All files as one. */
  get merged(): Kubeconfig {
    return mergeKubeconfigs(this.#files.map(({ config }) => config));
  }

  /** Where new entries go. */
  get path(): string {
    return this.#files[0]?.path ?? '';
  }

  /** The file that has the entry, else the first. */
  pathOf(section: Section, name: string): string {
    return this.#holder(section, name)?.path ?? this.path;
  }

  setCurrent(name: string): void {
    const file = this.#files.find(({ config }) => config['current-context'] !== '') ?? this.#files[0];
    if (file !== undefined) write(file.path, { ...file.config, 'current-context': name });
  }

  /** @param entry Undefined removes the entry. */
  put(section: Section, name: string, entry: { readonly name: string } | undefined): void {
    const file = this.#holder(section, name) ?? this.#files[0];
    if (file === undefined) return;
    const others = (file.config[section] as readonly { readonly name: string }[]).filter((each) => each.name !== name);
    const all = entry === undefined ? others : [...others, entry];
    write(file.path, { ...file.config, [section]: all });
  }

  #holder(section: Section, name: string): StoredFile | undefined {
    return this.#files.find(({ config }) =>
      (config[section] as readonly { readonly name: string }[]).some((each) => each.name === name),
    );
  }
}

function pathsOf(given: string, env: Invocation['env']): string[] {
  if (given !== '') return [given];
  const variable = env['ORCHCONFIG'] || env['KUBECONFIG'] || '';
  if (variable !== '') return variable.split(delimiter).filter((path) => path !== '');
  const home = env['HOME'] ?? homedir();
  const usual = [join(home, '.orch', 'config'), join(home, '.kube', 'config')];
  return [usual.find((path) => existsSync(path)) ?? usual[0] ?? ''];
}

function readConfig(path: string): Kubeconfig {
  return parseKubeconfig(existsSync(path) ? readFileSync(path, 'utf8') : '', path);
}

/** The config as kubectl writes and shows it: entries by their names. */
export function sortedConfig(config: Kubeconfig): Record<string, unknown> {
  const byName = <T extends { readonly name: string }>(entries: readonly T[]) =>
    entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const orNull = <T>(entries: readonly T[]) => (entries.length === 0 ? null : entries);
  return {
    apiVersion: 'v1',
    clusters: orNull(byName(config.clusters)),
    contexts: orNull(byName(config.contexts)),
    'current-context': config['current-context'],
    kind: 'Config',
    preferences: {},
    users: orNull(byName(config.users).map(({ name, user }) => ({ name, user }))),
  };
}

/** Replaces the file at once, so that no reader sees half of it; only its owner may read it. */
function write(path: string, config: Kubeconfig): void {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, yamlText(sortedConfig(config)), { mode: 0o600 });
  renameSync(temporary, path);
}
