/** The forms of `--output`: which there are, and printers for those that print whole objects. */
import { readFileSync } from 'node:fs';
import { messageOf } from '#apimachinery/errors/message.js';
import type { ApiObject } from '#client/client.js';
import { objectText, orderedJSON } from '#cmd/orchctl/print/object.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';
import type { Values } from '#cmd/orchctl/terminal/values.js';
import type { OptionTable } from '#daemon/options/option.js';

export const printOptions = {
  output: {
    type: 'string',
    shorthand: 'o',
    section: 'Output',
    meaning:
      'Output format: json, yaml, name, go-template, go-template-file, jsonpath, jsonpath-as-json or jsonpath-file; commands that show objects also: wide, custom-columns, custom-columns-file.',
  },
  template: {
    type: 'string',
    section: 'Output',
    meaning: 'Template, or its file, of the output formats go-template, go-template-file, jsonpath and jsonpath-file.',
  },
  'allow-missing-template-keys': {
    type: 'bool',
    default: true,
    section: 'Output',
    meaning: 'Treat fields that an object lacks as empty in templates, instead of as an error.',
  },
  'show-managed-fields': { type: 'bool', section: 'Output', meaning: 'Keep metadata.managedFields in json and yaml.' },
} as const satisfies OptionTable;

/** Prints objects one after the other; it may keep what it printed before in mind. */
export type ObjectPrinter = (object: unknown) => string;

const plainFormats = ['json', 'yaml', 'name'];
const pathFormats = ['jsonpath', 'jsonpath-as-json', 'jsonpath-file'];
const templateFormats = ['go-template', 'go-template-file', 'template', 'templatefile'];
const columnFormats = ['custom-columns', 'custom-columns-file'];

export interface FormatSettings {
  /** Whether the command shows tables: `wide` and custom columns. */
  readonly tables?: boolean;
  /** Whether JSON keeps the order of members. */
  readonly ordered?: boolean;
  readonly header?: boolean;
}

/** Whether the output is a table or short words, instead of whole objects. */
export function isForPeople(values: Values): boolean {
  const form = values.string('output') ?? '';
  return form === 'wide' || (form === '' && (values.string('template') ?? '') === '');
}

/** The printer of the format; undefined if the output is for people. Throws a CommandError. */
export async function objectPrinter(values: Values, settings: FormatSettings = {}): Promise<ObjectPrinter | undefined> {
  const output = values.string('output') ?? '';
  const template = values.string('template') ?? '';
  if (isForPeople(values) && (settings.tables === true || output === '')) return undefined;
  const at = output.indexOf('=');
  const isWhole = at < 0;
  const form = isWhole ? output : output.slice(0, at);
  // Without a format, a template is a Go template.
  const chosen = form === '' ? 'go-template' : form;
  const argument = template === '' && !isWhole ? output.slice(at + 1) : template;
  const allowMissing = values.bool('allow-missing-template-keys');
  if (isWhole && plainFormats.includes(chosen)) return plainPrinter(chosen, settings);
  if (pathFormats.includes(chosen)) return pathPrinter(chosen, argument, allowMissing);
  if (templateFormats.includes(chosen)) return templatePrinter(chosen, argument, allowMissing);
  if (settings.tables === true && columnFormats.includes(chosen)) {
    return columnPrinter(chosen, argument, settings.header !== false);
  }
  const all = [...plainFormats, ...pathFormats, ...templateFormats];
  const allowed = [...all, ...(settings.tables === true ? [...columnFormats, 'wide'] : [])].sort().join(',');
  throw new CommandError(
    `unable to match a printer suitable for the output format ${JSON.stringify(output)}, allowed formats are: ${allowed}`,
  );
}

function plainPrinter(form: string, { ordered }: FormatSettings): ObjectPrinter {
  if (form === 'name') return nameText;
  if (form === 'json') return (object) => (ordered === true ? orderedJSON(object) : objectText(object, 'json'));
  let count = 0;
  return (object) => `${count++ === 0 ? '' : '---\n'}${objectText(object, 'yaml')}`;
}

interface Listed {
  readonly items?: readonly ApiObject[];
}

/** `deployment.apps/web`; each object of a list on its own line. */
function nameText(object: unknown): string {
  const { items } = object as Listed;
  if (Array.isArray(items)) return items.map(nameText).join('');
  return `${kindName(object as ApiObject)}\n`;
}

/** The name of an object by its kind: `pod/web`, `deployment.apps/web`. */
export function kindName({ apiVersion = '', kind = '', metadata }: ApiObject): string {
  const slash = apiVersion.indexOf('/');
  const group = slash < 0 ? '' : `.${apiVersion.slice(0, slash)}`;
  return `${kind.toLowerCase()}${group}/${metadata?.name ?? '<unknown>'}`;
}

async function pathPrinter(form: string, argument: string, allowMissing: boolean): Promise<ObjectPrinter> {
  const template = templateText(form === 'jsonpath-file', argument);
  const [{ JsonPath }, { PathError }] = await Promise.all([
    import('#cmd/orchctl/print/jsonpath/evaluate.js'),
    import('#cmd/orchctl/print/jsonpath/nodes.js'),
  ]);
  const path = parsed(() => new JsonPath(template, { allowMissing }), `jsonpath ${template}`);
  return (object) => {
    try {
      if (form !== 'jsonpath-as-json') return path.text(object);
      return path
        .results(object)
        .map((values) => objectText(values, 'json'))
        .join('');
    } catch (error) {
      if (!(error instanceof PathError)) throw error;
      throw new CommandError(
        `error executing jsonpath ${JSON.stringify(template)}: Error executing template: ${error.message}`,
      );
    }
  };
}

async function templatePrinter(form: string, argument: string, allowMissing: boolean): Promise<ObjectPrinter> {
  const template = templateText(form.endsWith('file'), argument);
  const { GoTemplate } = await import('#cmd/orchctl/print/template/template.js');
  const executable = parsed(() => new GoTemplate(template, { allowMissing }), `template ${template}`);
  return (object) => {
    try {
      return executable.text(object);
    } catch (error) {
      throw new CommandError(`error executing template ${JSON.stringify(template)}: ${messageOf(error)}`);
    }
  };
}

async function columnPrinter(form: string, argument: string, header: boolean): Promise<ObjectPrinter> {
  const { columnLines, columnsOf, columnsOfFile } = await import('#cmd/orchctl/print/columns.js');
  const columns =
    form === 'custom-columns' ? columnsOf(argument) : columnsOfFile(fileText(argument, 'error reading template'));
  let count = 0;
  return (object) => {
    const { items } = object as Listed;
    return columnLines(columns, Array.isArray(items) ? items : [object], header && count++ === 0);
  };
}

function templateText(isFile: boolean, argument: string): string {
  if (argument === '') throw new CommandError('template format specified but no template given');
  return isFile ? fileText(argument, 'error reading --template') : argument;
}

function fileText(path: string, what: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new CommandError(`${what} ${path}, ${messageOf(error)}`);
  }
}

function parsed<T>(parse: () => T, what: string): T {
  try {
    return parse();
  } catch (error) {
    throw new CommandError(`error parsing ${what}, ${messageOf(error)}`);
  }
}
