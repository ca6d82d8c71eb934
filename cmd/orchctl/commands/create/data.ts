/** The entries of new ConfigMaps and Secrets: from literals, files, folders and files of variables. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { configKeyErrors } from '#apimachinery/validation/names.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';
import type { OptionTable } from '#daemon/options/option.js';

export const dataOptions = {
  'from-literal': { type: 'stringArray', section: 'Content', meaning: 'KEY=VALUE; may be repeated.' },
  'from-file': {
    type: 'strings',
    section: 'Content',
    meaning: 'File whose name is the key, KEY=FILE, or a folder whose files are the entries.',
  },
  'from-env-file': { type: 'strings', section: 'Content', meaning: 'File with lines of the form KEY=VALUE.' },
} as const satisfies OptionTable;

export interface DataWords {
  /** `an invalid key name …` of the kind, for messages. */
  readonly invalidKey: (key: string, why: string) => string;
  readonly repeatedKey: (key: string) => string;
  /** `config` or `secret`. */
  readonly what: string;
}

/** Throws a CommandError. */
export function dataOf({ env, values }: Invocation, words: DataWords): Map<string, Buffer> {
  const data = new Map<string, Buffer>();
  const add = (key: string, value: Buffer) => {
    const faults = configKeyErrors(key);
    if (faults.length > 0) throw new CommandError(words.invalidKey(key, faults.join(',')));
    if (data.has(key)) throw new CommandError(words.repeatedKey(key));
    data.set(key, value);
  };
  const files = values.strings('from-file');
  const literals = values.strings('from-literal');
  const envFiles = values.strings('from-env-file');
  if (envFiles.length > 0 && files.length + literals.length > 0) {
    throw new CommandError('from-env-file cannot be combined with from-file or from-literal');
  }
  for (const source of files) addFile(source, add);
  for (const literal of literals) {
    const at = literal.indexOf('=');
    if (at <= 0) throw new CommandError(`invalid literal source ${literal}, expected key=value`);
    add(literal.slice(0, at), Buffer.from(literal.slice(at + 1)));
  }
  for (const path of envFiles) {
    if (kindOfPath(path) === 'folder') throw new CommandError(`env ${words.what} file cannot be a directory`);
    for (const [key, value] of variablesOf(readFileSync(path, 'utf8'), env)) add(key, Buffer.from(value));
  }
  return data;
}

type Add = (key: string, value: Buffer) => void;

function addFile(source: string, add: Add): void {
  const { key, path } = fileSource(source);
  if (kindOfPath(path) === 'file') {
    add(key, readFileSync(path));
    return;
  }
  if (source.includes('=')) throw new CommandError('cannot give a key name for a directory path');
  const entries = readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) if (entry.isFile()) add(entry.name, readFileSync(join(path, entry.name)));
}

function kindOfPath(path: string): 'file' | 'folder' {
  try {
    return statSync(path).isDirectory() ? 'folder' : 'file';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const words =
      code === 'ENOENT' ? 'no such file or directory' : code === 'EACCES' ? 'permission denied' : String(code);
    throw new CommandError(`error reading ${path}: ${words}`);
  }
}

function fileSource(source: string): { key: string; path: string } {
  const [first = '', second, more] = source.split('=');
  if (second === undefined) return { key: basename(source), path: source };
  if (more !== undefined) throw new CommandError("key names or file paths cannot contain '='");
  if (first === '') throw new CommandError(`key name for file path ${second} missing`);
  if (second === '') throw new CommandError(`file path for key name ${first} missing`);
  return { key: first, path: second };
}

/** Lines of a file of variables; a name alone takes its value from the environment. */
function variablesOf(text: string, env: Invocation['env']): [string, string][] {
  return text.split('\n').flatMap((line, index): [string, string][] => {
    const trimmed = (index === 0 ? line.replace(/^\ufeff/, '') : line).replace(/\r$/, '').trimStart();
    if (trimmed === '' || trimmed.startsWith('#')) return [];
    const at = trimmed.indexOf('=');
    const key = at < 0 ? trimmed : trimmed.slice(0, at);
    if (!/^[-._a-zA-Z][-._a-zA-Z0-9]*$/.test(key)) {
      throw new CommandError(
        `${JSON.stringify(key)} is not a valid key name: a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')`,
      );
    }
    const value = at < 0 ? env[key] : trimmed.slice(at + 1);
    return value === undefined ? [] : [[key, value]];
  });
}
