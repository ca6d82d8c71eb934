/** Query parameters that all writes share. */
import type { FieldValidation } from '#apimachinery/codec/json.js';
import { badRequest } from '#apimachinery/errors/status.js';
import type { RequestContext } from '#apiserver/http/context.js';
import { invalidOptions } from '#apiserver/registry/request-errors.js';

export interface WriteOptions {
  readonly dryRun: boolean;
  /** Whose fields a write's fields become; never empty. */
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
}

/** Most characters of a field manager's name. */
const maxFieldManager = 128;

/** Throws 422 for values that are not supported. `kind` is the options' kind in messages. */
export function writeOptions(context: RequestContext, kind: string): WriteOptions {
  const { query } = context.info;
  const fieldManager = query.get('fieldManager') ?? '';
  if (fieldManager.length > maxFieldManager) {
    throw invalidOptions('fieldManager', 'TooLong', `Too long: may not be longer than ${maxFieldManager}`, kind);
  }
  if (/[^\x20-\x7e\u00a0-\uffff]/.test(fieldManager)) {
    throw invalidOptions(
      'fieldManager',
      'Invalid',
      `Invalid value: ${JSON.stringify(fieldManager)}: should only contain printable characters`,
      kind,
    );
  }
  return {
    dryRun: parseDryRun(query.getAll('dryRun'), kind),
    fieldManager: fieldManager === '' ? defaultManager(context.request.headers['user-agent']) : fieldManager,
    fieldValidation: parseFieldValidation(query.get('fieldValidation') ?? ''),
  };
}

/** `dryRun` without a value does nothing; `All` is the only value (specification 1, 4.7). */
export function parseDryRun(values: readonly string[], kind: string): boolean {
  for (const value of values) {
    if (value !== '' && value !== 'All') {
      throw invalidOptions('dryRun', 'NotSupported', `Unsupported value: ["${value}"]: supported values: "All"`, kind);
    }
  }
  return values.includes('All');
}

function parseFieldValidation(value: string): FieldValidation {
  if (value === '' || value === 'Warn') return 'Warn';
  if (value === 'Ignore' || value === 'Strict') return value;
  throw badRequest(`fieldValidation parameter unsupported: ${value}`);
}

/** The program's name out of the User-Agent: what stands before the first slash. */
function defaultManager(userAgent: string | undefined): string {
  const name = (userAgent ?? '').split('/', 1)[0]?.trim() ?? '';
  return name === '' ? 'unknown' : name.slice(0, maxFieldManager);
}
