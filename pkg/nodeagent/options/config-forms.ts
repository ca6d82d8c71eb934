/** Between the forms of the configuration file and those of options, and between the names of the two dialects. */
import type { Dialect } from '#apimachinery/dialect.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { isPlain, type Plain } from '#nodeagent/options/config-decode.js';

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Group and version of the dialect's configuration files. */
export function configApiVersion({ components, apiDomain }: Dialect): string {
  return `${components.nodeAgent}.config.${apiDomain}/v1beta1`;
}

export function configKind(dialect: Dialect): string {
  return `${capitalised(dialect.nodeAgentIdentifier)}Configuration`;
}

/** A field or feature gate named by the dialect, in the words of the tables: `kubeReserved` → `orchReserved`. */
function tableName(name: string, dialect: Dialect): string {
  const pairs = [
    [dialect.nodeAgentIdentifier, orchDialect.nodeAgentIdentifier],
    [capitalised(dialect.nodeAgentIdentifier), capitalised(orchDialect.nodeAgentIdentifier)],
    [dialect.shortName, orchDialect.shortName],
  ] as const;
  for (const [from, to] of pairs) {
    if (new RegExp(`^${from}(?=[A-Z])`).test(name)) return to + name.slice(from.length);
  }
  const [agent, own] = [capitalised(dialect.nodeAgentIdentifier), capitalised(orchDialect.nodeAgentIdentifier)];
  return name.replace(new RegExp(`(?<=[a-z])${agent}(?=[A-Z])`), own);
}

/** The file's fields in the words of the field table; a name of the other dialect becomes an unknown one. */
export function inTableNames(file: Plain, dialect: Dialect): Plain {
  if (dialect === orchDialect) return file;
  const foreign = new Set(
    Object.keys(file).filter((name) => tableName(name, orchDialect) !== tableName(name, dialect)),
  );
  return Object.fromEntries(
    Object.entries(file).map(([name, value]) => [
      foreign.has(name) ? tableName(name, dialect) : name,
      name === 'featureGates' && isPlain(value)
        ? Object.fromEntries(Object.entries(value).map(([gate, on]) => [tableName(gate, dialect), on]))
        : value,
    ]),
  );
}

/** Decoded fields in the form of the options that `configField` names. `from`: the file's dialect. */
export function inOptionForm(fields: Plain, from: Dialect, to: Dialect): Plain {
  const result: Record<string, unknown> = { ...fields };
  const replace = (name: string, form: (value: never) => unknown) => {
    if (result[name] !== undefined) result[name] = form(result[name] as never);
  };
  for (const name of ['evictionHard', 'evictionSoft']) {
    replace(name, (value: Record<string, string>) =>
      Object.entries(value)
        .map(([signal, threshold]) => `${signal}<${threshold}`)
        .join(','),
    );
  }
  replace('registerWithTaints', (taints: { key: string; value?: string; effect: string }[]) =>
    taints.map(({ key, value = '', effect }) => `${key}${value === '' ? '' : `=${value}`}:${effect}`),
  );
  replace('staticPodURLHeader', (headers: Record<string, string[]>) =>
    Object.entries(headers).flatMap(([name, values]) => values.map((value) => `${name}:${value}`)),
  );
  replace('reservedMemory', (nodes: { numaNode: number; limits: Record<string, string> }[]) =>
    nodes.map(({ numaNode, limits }) => `${numaNode}:${pairs(limits)}`),
  );
  replace('cpuManagerPolicy', (policy: string) => policy.toLowerCase());
  replace('memoryManagerPolicy', (policy: string) => capitalised(policy.toLowerCase()));
  replace('enforceNodeAllocatable', (values: string[]) =>
    values.map((value) => (value === `${from.shortName}-reserved` ? `${to.shortName}-reserved` : value)),
  );
  replace('contentType', (type: string) => (type === from.protobufMediaType ? to.protobufMediaType : type));
  replace('logging', (logging: Plain & { vmodule?: { filePattern: string; verbosity: number }[] }) => ({
    ...logging,
    ...(logging.vmodule === undefined
      ? {}
      : { vmodule: logging.vmodule.map(({ filePattern, verbosity }) => `${filePattern}=${verbosity}`) }),
  }));
  // Posting an unchanged status as often as computing it is what somebody means who sets only the latter.
  result['nodeStatusReportFrequency'] ??= result['nodeStatusUpdateFrequency'];
  return result;
}

const pairs = (map: Readonly<Record<string, string>>): string =>
  Object.entries(map)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
