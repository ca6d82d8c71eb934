/** The configuration file: kind NodeAgentConfiguration. What it says lies under the command line. */
import { readFile } from 'node:fs/promises';
import { parse as parseYaml } from 'yaml';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { overlayConfig } from '#daemon/options/config-file.js';
import { OptionsError } from '#daemon/options/errors.js';
import type { OptionTable } from '#daemon/options/option.js';
import type { ParsedOptions } from '#daemon/options/parse.js';

type Json = Record<string, unknown>;

/** Fields of the file's version whose defaults are stricter than the options' of the same name. */
const stricterDefaults: Json = {
  readOnlyPort: 0,
  authentication: { anonymous: { enabled: false }, webhook: { enabled: true } },
  authorization: { mode: 'Webhook' },
};

/** Fields that are taken and that no option stands for. */
const otherFields = new Set([
  'apiVersion',
  'kind',
  'evictionHard',
  'evictionSoft',
  'registerWithTaints',
  'featureGates',
  'logging',
  'staticPodURLHeader',
  'enableContentionProfiling',
  'enableProfilingHandler',
  'enableSystemLogHandler',
  'enableDebugFlagsHandler',
  'reservedMemory',
  'memorySwap',
  'memoryThrottlingFactor',
  'shutdownGracePeriod',
  'shutdownGracePeriodCriticalPods',
  'shutdownGracePeriodByPodPriority',
  'showHiddenMetricsForVersion',
  'configMapAndSecretChangeDetectionStrategy',
]);

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function merge(base: Json, over: Json): Json {
  const result: Json = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = result[key];
    result[key] = isObject(below) && isObject(value) ? merge(below, value) : value;
  }
  return result;
}

/** Group and kind as the dialect names them; the other implementation's too, in its dialect. */
function checkKind(file: Json, dialect: Dialect): string[] {
  const groups = [`${orchDialect.components.nodeAgent}.config.${orchDialect.apiDomain}`];
  if (dialect.name === 'kubernetes') groups.push(`kubelet.config.${kubernetesDialect.apiDomain}`);
  const kinds = ['NodeAgentConfiguration', ...(dialect.name === 'kubernetes' ? ['KubeletConfiguration'] : [])];
  const versions = groups.map((group) => `${group}/v1beta1`);
  const errors: string[] = [];
  if (!versions.includes(String(file['apiVersion']))) errors.push(`apiVersion must be ${versions.join(' or ')}`);
  if (!kinds.includes(String(file['kind']))) errors.push(`kind must be ${kinds.join(' or ')}`);
  return errors;
}

function unknownFields(file: Json, table: OptionTable): string[] {
  const known = new Set(otherFields);
  for (const { configField } of Object.values(table))
    if (configField !== undefined) known.add(configField.split('.')[0] ?? '');
  return Object.keys(file)
    .filter((field) => !known.has(field))
    .map((field) => `unknown field ${JSON.stringify(field)}`);
}

/** Lists and maps of the file in the form of the options of the same meaning. */
function specialFields(file: Json): Json {
  const values: Json = {};
  if (isObject(file['evictionHard'])) {
    values['eviction-hard'] = Object.entries(file['evictionHard'])
      .map(([signal, threshold]) => `${signal}<${String(threshold)}`)
      .join(',');
  }
  if (Array.isArray(file['registerWithTaints'])) {
    values['register-with-taints'] = file['registerWithTaints'].filter(isObject).map((taint) => {
      const value = taint['value'] === undefined || taint['value'] === '' ? '' : `=${String(taint['value'])}`;
      return `${String(taint['key'])}${value}:${String(taint['effect'])}`;
    });
  }
  if (isObject(file['featureGates'])) values['feature-gates'] = file['featureGates'];
  return values;
}

/** The options with the text's fields beneath. Throws OptionsError that names `source`. */
export function applyConfig<T extends OptionTable>(
  table: T,
  options: ParsedOptions<T>,
  config: { text: string; source: string; dialect: Dialect },
): ParsedOptions<T> {
  const fail = (errors: readonly string[]) => new OptionsError(errors.map((error) => `${config.source}: ${error}`));
  let file: unknown;
  try {
    file = parseYaml(config.text);
  } catch (error) {
    throw fail([(error as Error).message]);
  }
  if (!isObject(file)) throw fail(['must be an object']);
  const errors = [...checkKind(file, config.dialect), ...unknownFields(file, table)];
  if (errors.length > 0) throw fail(errors);
  const overlaid = overlayConfig(table, options, merge(stricterDefaults, file));
  const special = Object.fromEntries(Object.entries(specialFields(file)).filter(([name]) => !options.given.has(name)));
  const values = Object.freeze({ ...overlaid.values, ...special }) as ParsedOptions<T>['values'];
  return { ...overlaid, values };
}

/** `applyConfig` with the file at `path`. */
export async function applyConfigFile<T extends OptionTable>(
  table: T,
  options: ParsedOptions<T>,
  config: { path: string; dialect: Dialect },
): Promise<ParsedOptions<T>> {
  let text: string;
  try {
    text = await readFile(config.path, 'utf8');
  } catch (error) {
    throw new OptionsError([`--config: cannot read ${config.path}: ${(error as Error).message}`]);
  }
  return applyConfig(table, options, { text, source: config.path, dialect: config.dialect });
}
