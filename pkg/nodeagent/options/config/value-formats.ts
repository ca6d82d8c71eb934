/** Converts values and names of the configuration file to those of options, and between the two dialects. */
import { taintText } from '#api/core/v1/node/taints.js';
import type { Taint } from '#api/core/v1/types.gen.js';
import { type Dialect, orchDialect } from '#apimachinery/dialect.js';
import type { Plain } from '#daemon/options/config-decode.js';

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Group and version of the dialect's configuration files. */
export function configApiVersion({ components, apiDomain }: Dialect): string {
  return `${components.nodeAgent}.config.${apiDomain}/v1beta1`;
}

export function configKind(dialect: Dialect): string {
  return `${capitalised(dialect.nodeAgentIdentifier)}Configuration`;
}

/** The dialect's name of a field in the table: `orchReserved` is `kubeReserved`. */
export function fieldName(name: string, dialect: Dialect): string {
  for (const part of ['nodeAgentIdentifier', 'shortName'] as const) {
    const own = orchDialect[part];
    const rest = name.slice(own.length);
    if (name.startsWith(own) && /^[A-Z]/.test(rest)) return dialect[part] + rest;
  }
  return name;
}

/** The table's name of the dialect's feature gate. */
function gateName(name: string, dialect: Dialect): string {
  return name.replace(capitalised(dialect.nodeAgentIdentifier), capitalised(orchDialect.nodeAgentIdentifier));
}

/** Converts decoded fields to the values of the options that `configField` names. `from`: the file's dialect. */
export function toOptionValues(fields: Plain, from: Dialect, to: Dialect): Plain {
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
  replace('registerWithTaints', (taints: Taint[]) => taints.map(taintText));
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
  replace('featureGates', (gates: Record<string, boolean>) =>
    Object.fromEntries(Object.entries(gates).map(([gate, on]) => [gateName(gate, from), on])),
  );
  replace('contentType', (type: string) => (type === from.protobufMediaType ? to.protobufMediaType : type));
  replace('logging', (logging: Plain & { vmodule?: { filePattern: string; verbosity: number }[] }) => ({
    ...logging,
    ...(logging.vmodule === undefined
      ? {}
      : { vmodule: logging.vmodule.map(({ filePattern, verbosity }) => `${filePattern}=${verbosity}`) }),
  }));
  // If only the update frequency is set, unchanged statuses are reported as often.
  result['nodeStatusReportFrequency'] ??= result['nodeStatusUpdateFrequency'];
  return result;
}

const pairs = (map: Readonly<Record<string, string>>): string =>
  Object.entries(map)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
