/** Merges a daemon's config file with its command line; the command line wins. */
import { deepFreeze } from '#apimachinery/freeze.js';
import { type OptionDeclaration, OptionsError, type OptionTable, type OptionValues } from '#daemon/options/option.js';
import type { ParsedOptions } from '#daemon/options/parse.js';
import { OptionValueError, parseValue } from '#daemon/options/value.js';

/** Fills options that the command line did not set from the file's fields (`configField`). */
export function overlayConfig<T extends OptionTable>(
  table: T,
  options: ParsedOptions<T>,
  config: Readonly<Record<string, unknown>>,
): ParsedOptions<T> {
  const values: Record<string, unknown> = { ...options.values };
  const errors: string[] = [];
  for (const [name, declaration] of Object.entries(table)) {
    if (declaration.configField === undefined || options.given.has(name)) continue;
    const value = fieldAt(config, declaration.configField);
    if (value === undefined) continue;
    try {
      values[name] = fromConfig(declaration, value);
    } catch (error) {
      if (!(error instanceof OptionValueError)) throw error;
      errors.push(`${declaration.configField}: Invalid value: ${JSON.stringify(value)}: ${error.message}`);
    }
  }
  if (errors.length > 0) throw new OptionsError(errors);
  return { ...options, values: deepFreeze(values) as OptionValues<T> };
}

function fieldAt(config: unknown, path: string): unknown {
  let value = config;
  for (const part of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

function fromConfig(declaration: OptionDeclaration, value: unknown): unknown {
  if (typeof value === 'string') return parseValue(declaration, value, undefined);
  if (typeof value === 'number' || typeof value === 'boolean') return parseValue(declaration, String(value), undefined);
  const isList = declaration.type === 'strings' || declaration.type === 'stringArray';
  if (isList && Array.isArray(value) && value.every((item) => typeof item === 'string')) return [...value];
  const isMap = declaration.type === 'map' || declaration.type === 'boolMap';
  const memberType = declaration.type === 'map' ? 'string' : 'boolean';
  if (isMap && typeof value === 'object' && value !== null && !Array.isArray(value)) {
    if (Object.values(value).every((item) => typeof item === memberType)) return { ...value };
  }
  throw new OptionValueError(`must be of type ${declaration.type}`);
}
