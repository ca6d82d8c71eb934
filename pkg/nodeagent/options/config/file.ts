/**
 * Reads the configuration file, of kind NodeAgentConfiguration (or KubeletConfiguration, with the other dialect's
 * names). The command line overrides it.
 */

import { readFile } from 'node:fs/promises';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { deepFreeze } from '#apimachinery/freeze.js';
import { decodeFields, isPlain, type Plain, parseConfigText } from '#daemon/options/config-decode.js';
import { overlayConfig } from '#daemon/options/config-file.js';
import { FeatureGates, idleGateFindings } from '#daemon/options/groups/feature-gates.js';
import { type InertFindings, inertFinding } from '#daemon/options/inert.js';
import { OptionsError, type OptionTable } from '#daemon/options/option.js';
import type { ParsedOptions } from '#daemon/options/parse.js';
import { configFields } from '#nodeagent/options/config/fields.js';
import { type FileOnlySettings, fileOnlySettings, idleFields } from '#nodeagent/options/config/file-only.js';
import { configApiVersion, configKind, fieldName, toOptionValues } from '#nodeagent/options/config/value-formats.js';
import { nodeAgentGates } from '#nodeagent/options/gates.js';

/** Defaults of the file that are stricter than the options' defaults. */
const stricterDefaults: Plain = {
  readOnlyPort: 0,
  authentication: { anonymous: { enabled: false }, webhook: { enabled: true } },
  authorization: { mode: 'Webhook' },
};

function merge(base: Plain, over: Plain): Plain {
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = result[key];
    result[key] = isPlain(below) && isPlain(value) ? merge(below, value) : value;
  }
  return result;
}

/** The dialect of the file; undefined if it is no node agent configuration. */
function dialectOf(file: Plain): Dialect | undefined {
  return [orchDialect, kubernetesDialect].find(
    (dialect) => file['apiVersion'] === configApiVersion(dialect) && file['kind'] === configKind(dialect),
  );
}

/** Options together with the fields that have no option. */
export interface ConfiguredOptions<T extends OptionTable> extends ParsedOptions<T> {
  readonly settings: FileOnlySettings;
}

interface Decoded {
  /** By the names of the field table. */
  readonly fields: Plain;
  readonly dialect: Dialect;
}

/** Strict: unknown fields and wrong types are errors. Throws OptionsError. */
function decodeConfig(text: string): Decoded {
  const file = parseConfigText(text);
  const dialect = dialectOf(file);
  if (dialect === undefined) {
    const accepted = [orchDialect, kubernetesDialect].map((each) => `${configApiVersion(each)} ${configKind(each)}`);
    const actual = `${String(file['apiVersion'])} ${String(file['kind'])}`;
    throw new OptionsError([`apiVersion and kind must be ${accepted.join(' or ')}, not ${actual}`]);
  }
  const names = new Map(Object.keys(configFields).map((name) => [fieldName(name, dialect), name]));
  const table = Object.fromEntries(
    Object.entries(configFields).map(([name, type]) => [fieldName(name, dialect), type]),
  );
  const errors: string[] = [];
  const decoded = decodeFields(table, file, errors);
  if (errors.length > 0) throw new OptionsError(errors);
  return {
    fields: Object.fromEntries(Object.entries(decoded).map(([name, value]) => [names.get(name) ?? name, value])),
    dialect,
  };
}

/**
 * Merges the text's fields below the options, and adds warnings about fields without effect. Throws OptionsError with
 * `source` in front of each message. The caller checks rules across values: `completeRules` of `options.ts`.
 */
export function applyConfig<T extends OptionTable>(
  table: T,
  options: ParsedOptions<T>,
  config: { readonly text: string; readonly source: string; readonly dialect: Dialect },
): ConfiguredOptions<T> {
  try {
    const { fields, dialect } = decodeConfig(config.text);
    const form = toOptionValues(fields, dialect, config.dialect);
    const overlaid = overlayConfig(table, options, merge(stricterDefaults, form));
    // Single gates of the command line override the file's.
    const gates = merge((form['featureGates'] ?? {}) as Plain, commandLineGates(options));
    const enabled = new FeatureGates(gates as Readonly<Record<string, boolean>>);
    const { settings, errors } = fileOnlySettings(fields, enabled);
    if (errors.length > 0) throw new OptionsError(errors);
    const values = 'feature-gates' in table ? { ...overlaid.values, 'feature-gates': gates } : overlaid.values;
    const inFile = (text: string) => `${config.source}: ${text}`;
    const inert = inertFields(table, options.given, form, overlaid.values);
    const idle = idleGateFindings((form['featureGates'] ?? {}) as Readonly<Record<string, boolean>>, nodeAgentGates);
    const vain = [...inert.warnings, ...idleFieldWarnings(form)].sort();
    const warnings = [...options.warnings, ...[...vain, ...idle.warnings].map(inFile)];
    const refusals = [...options.refusals, ...[...inert.refusals, ...idle.refusals].map(inFile)];
    return { ...overlaid, warnings, refusals, settings, values: deepFreeze(values) as ParsedOptions<T>['values'] };
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error;
    throw new OptionsError(error.messages.map((message) => `${config.source}: ${message}`));
  }
}

function commandLineGates({ values, given }: { readonly values: object; readonly given: ReadonlySet<string> }): Plain {
  if (!given.has('feature-gates') || !('feature-gates' in values)) return {};
  return isPlain(values['feature-gates']) ? values['feature-gates'] : {};
}

/** The findings for fields of options without effect. */
function inertFields(
  table: OptionTable,
  given: ReadonlySet<string>,
  form: Plain,
  values: Readonly<Record<string, unknown>>,
): InertFindings {
  const findings = Object.entries(table).flatMap(([name, declaration]) => {
    const { configField } = declaration;
    if (configField === undefined || given.has(name) || !isSet(form, configField)) return [];
    return [inertFinding(declaration, `field ${configField}`, values[name])];
  });
  return {
    warnings: findings.flatMap(({ warnings }) => warnings),
    refusals: findings.flatMap(({ refusals }) => refusals),
  };
}

function idleFieldWarnings(form: Plain): string[] {
  return Object.entries(idleFields)
    .filter(([name]) => isSet(form, name))
    .map(([name, why]) => `field ${name} has no effect: ${why}`);
}

function isSet(form: Plain, path: string): boolean {
  let value: unknown = form;
  for (const part of path.split('.')) {
    if (!isPlain(value) || !Object.hasOwn(value, part)) return false;
    value = value[part];
  }
  return value !== undefined;
}

/** Calls `applyConfig` with the file at `path`. */
export async function applyConfigFile<T extends OptionTable>(
  table: T,
  options: ParsedOptions<T>,
  config: { readonly path: string; readonly dialect: Dialect },
): Promise<ConfiguredOptions<T>> {
  let text: string;
  try {
    text = await readFile(config.path, 'utf8');
  } catch (error) {
    throw new OptionsError([`--config: cannot read ${config.path}: ${(error as Error).message}`]);
  }
  return applyConfig(table, options, { text, source: config.path, dialect: config.dialect });
}
