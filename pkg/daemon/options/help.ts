/** Renders `--help` from an option table. */
import { formatDuration } from '#apimachinery/duration.js';
import type { OptionDeclaration, OptionTable, OptionType } from '#daemon/options/option.js';

export interface HelpSettings {
  readonly program: string;
  /** What the program does, in one or more sentences. */
  readonly description: string;
  /** Line width; default 100. */
  readonly columns?: number;
}

const typeNames: Readonly<Record<OptionType, string>> = {
  string: 'string',
  strings: 'strings',
  stringArray: 'stringArray',
  bool: '',
  int: 'int',
  float: 'float',
  duration: 'duration',
  map: 'key=value,...',
  boolMap: 'key=true|false,...',
};

const builtIn: OptionTable = {
  help: { type: 'bool', section: 'Miscellaneous', meaning: 'Print this help and exit.', shorthand: 'h' },
  version: {
    type: 'string',
    section: 'Miscellaneous',
    meaning: 'Print the version and exit; `raw` prints every detail.',
  },
};

/** The whole help text, with sections and options in alphabetical order. */
export function helpText(table: OptionTable, settings: HelpSettings): string {
  const columns = Math.max(60, settings.columns ?? 100);
  const sections = new Map<string, [string, OptionDeclaration][]>();
  for (const entry of [...Object.entries(table), ...Object.entries(builtIn)]) {
    const title = entry[1].section;
    sections.set(title, [...(sections.get(title) ?? []), entry]);
  }
  const lines = [...wrap(settings.description, columns), '', 'Usage:', `  ${settings.program} [flags]`];
  for (const title of [...sections.keys()].sort()) {
    lines.push('', `${title} flags:`, '');
    const options = (sections.get(title) ?? []).sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [name, declaration] of options) lines.push(...describe(name, declaration, columns));
  }
  return `${lines.join('\n')}\n`;
}

function describe(name: string, declaration: OptionDeclaration, columns: number): string[] {
  const short = declaration.shorthand === undefined ? '    ' : `-${declaration.shorthand}, `;
  const type = name === 'version' ? '[=true|raw]' : typeNames[declaration.type];
  const head = `  ${short}--${name}${type === '' || type.startsWith('[') ? type : ` ${type}`}`;
  return [head, ...wrap(meaningOf(declaration), columns - 16).map((line) => `                ${line}`)];
}

function meaningOf(declaration: OptionDeclaration): string {
  const parts = [declaration.meaning];
  if (declaration.aliases !== undefined && declaration.aliases.length > 0)
    parts.push(`Also: ${declaration.aliases.map((name) => `--${name}`).join(', ')}.`);
  const choices = declaration.oneOf ?? declaration.choices;
  if (choices !== undefined) parts.push(`One of: ${choices.filter((choice) => choice !== '').join(', ')}.`);
  const shown = formatDefault(declaration);
  if (shown !== undefined) parts.push(`(default\u00a0${shown})`);
  if (declaration.deprecated !== undefined) parts.push(`(DEPRECATED: ${declaration.deprecated})`);
  if (declaration.inert !== undefined) parts.push(`(no effect: ${declaration.inert})`);
  return parts.join(' ');
}

/** The default in command line syntax; undefined if it is the type's zero value. */
export function formatDefault({ type, default: value }: OptionDeclaration): string | undefined {
  if (value === undefined || value === '' || value === false || value === 0) return undefined;
  if (type === 'duration' && typeof value === 'number') return formatDuration(value);
  if (Array.isArray(value)) return value.length === 0 ? undefined : `[${value.join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const pairs = Object.entries(value).map(([key, item]) => `${key}=${String(item)}`);
    return pairs.length === 0 ? undefined : `[${pairs.join(',')}]`;
  }
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const paragraph of text.split('\n')) {
    let line = '';
    for (const word of paragraph.split(' ')) {
      if (line !== '' && line.length + 1 + word.length > columns) {
        lines.push(line);
        line = word;
      } else line = line === '' ? word : `${line} ${word}`;
    }
    lines.push(line);
  }
  // No-break spaces only kept words on one line.
  return lines.map((line) => line.replaceAll('\u00a0', ' '));
}
