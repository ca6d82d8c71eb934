/** The `--cloud-config` file for bare metal: address pools, machines, and the interface that announces addresses. */
import type { NodeAddress } from '#api/core/v1/types.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import { dns1123LabelErrors } from '#apimachinery/validation/names.js';
import { type AddressRange, type Pool, parseRange, rangesOverlap } from '#cloud/baremetal/pools.js';
import { decodeFields, type FieldTable, isPlain, type Plain, parseConfigText } from '#daemon/options/config-decode.js';
import { OptionsError } from '#daemon/options/option.js';

export interface Machine {
  /** The node's name. */
  readonly name: string;
  readonly addresses: readonly NodeAddress[];
  readonly shutdown: boolean;
  readonly instanceType?: string;
  readonly zone?: string;
  readonly region?: string;
}

export interface BareMetalConfig {
  readonly pools: readonly Pool[];
  /** By node name. Absent when the file lists no machines; nodes are then never treated as gone. */
  readonly machines?: ReadonlyMap<string, Machine>;
  /** The interface that carries the addresses on every node; by default the interface with the route to the address. */
  readonly interface?: string;
}

const kind = 'BareMetalConfiguration';
const accepted = [orchDialect, kubernetesDialect].map(({ apiDomain }) => `baremetal.config.${apiDomain}/v1alpha1`);

const fields: FieldTable = {
  apiVersion: 'string',
  kind: 'string',
  interface: 'string',
  pools: {
    listOf: {
      fields: {
        name: 'string',
        addresses: { listOf: 'string' },
        autoAssign: 'bool',
        namespaces: { listOf: 'string' },
      },
      required: ['name', 'addresses'],
    },
  },
  machines: {
    listOf: {
      fields: {
        name: 'string',
        addresses: { listOf: 'string' },
        shutdown: 'bool',
        instanceType: 'string',
        zone: 'string',
        region: 'string',
      },
      required: ['name'],
    },
  },
};

/** Linux allows 15 bytes, without whitespace, slash or colon. */
const interfaceName = /^[^\s/:]{1,15}$/;

/** Throws OptionsError with all errors, each prefixed with the file's name and the field's path. */
export function parseBareMetalConfig(text: string, source: string): BareMetalConfig {
  const errors: string[] = [];
  const config = decoded(text, source, errors);
  if (config === undefined || errors.length > 0) {
    throw new OptionsError(errors.map((message) => `${source}: ${message}`));
  }
  return config;
}

function decoded(text: string, source: string, errors: string[]): BareMetalConfig | undefined {
  const file = parsed(text, source);
  if (!accepted.includes(String(file['apiVersion'])) || file['kind'] !== kind) {
    const actual = `${String(file['apiVersion'])} ${String(file['kind'])}`;
    errors.push(`apiVersion and kind must be ${accepted.join(' or ')} ${kind}, not ${actual}`);
    return undefined;
  }
  const plain = decodeFields(fields, file, errors);
  const pools = listOf(plain['pools']).map((item, i) => poolOf(item, `pools[${i}]`, errors));
  refuseDuplicates(pools, 'pools', errors);
  refuseOverlaps(pools, errors);
  const machines = listOf(plain['machines']).map((item, i) => machineOf(item, `machines[${i}]`, errors));
  refuseDuplicates(machines, 'machines', errors);
  const name = plain['interface'];
  if (typeof name === 'string' && !interfaceName.test(name)) {
    errors.push(`interface: Invalid value: ${JSON.stringify(name)}: must be the name of a network interface`);
  }
  return {
    pools,
    ...(plain['machines'] === undefined ? {} : { machines: new Map(machines.map((each) => [each.name, each])) }),
    ...(typeof name === 'string' ? { interface: name } : {}),
  };
}

function parsed(text: string, source: string): Plain {
  try {
    return parseConfigText(text);
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error;
    throw new OptionsError(error.messages.map((message) => `${source}: ${message}`));
  }
}

const listOf = (value: unknown): Plain[] => (Array.isArray(value) ? value.filter(isPlain) : []);
const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const stringsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];

function poolOf(item: Plain, path: string, errors: string[]): Pool {
  const name = stringOf(item['name']);
  for (const error of name === '' ? [] : dns1123LabelErrors(name)) {
    errors.push(`${path}.name: Invalid value: ${JSON.stringify(name)}: ${error}`);
  }
  const texts = stringsOf(item['addresses']);
  if (Array.isArray(item['addresses']) && texts.length === 0) {
    errors.push(`${path}.addresses: Required value: list at least one address`);
  }
  const ranges: AddressRange[] = [];
  for (const [i, text] of texts.entries()) {
    const range = parseRange(text);
    if (range !== undefined) ranges.push(range);
    else {
      const rule = 'must be a block (192.0.2.0/28), a range (192.0.2.1-192.0.2.9) or an address';
      errors.push(`${path}.addresses[${i}]: Invalid value: ${JSON.stringify(text)}: ${rule}`);
    }
  }
  const namespaces = stringsOf(item['namespaces']);
  if (Array.isArray(item['namespaces']) && namespaces.length === 0) {
    errors.push(`${path}.namespaces: Required value: leave it out for all namespaces`);
  }
  return {
    name,
    ranges,
    autoAssign: item['autoAssign'] !== false,
    ...(namespaces.length === 0 ? {} : { namespaces: new Set(namespaces) }),
  };
}

function machineOf(item: Plain, path: string, errors: string[]): Machine {
  const addresses = stringsOf(item['addresses']);
  for (const [i, address] of addresses.entries()) {
    if (ipFamily(address) !== 0) continue;
    errors.push(`${path}.addresses[${i}]: Invalid value: ${JSON.stringify(address)}: must be an IP address`);
  }
  const text = (key: 'instanceType' | 'zone' | 'region') =>
    typeof item[key] === 'string' ? { [key]: item[key] as string } : {};
  return {
    name: stringOf(item['name']),
    addresses: addresses.map((address) => ({ type: 'InternalIP', address })),
    shutdown: item['shutdown'] === true,
    ...text('instanceType'),
    ...text('zone'),
    ...text('region'),
  };
}

function refuseDuplicates(named: readonly { readonly name: string }[], path: string, errors: string[]): void {
  const seen = new Set<string>();
  for (const [i, { name }] of named.entries()) {
    if (name !== '' && seen.has(name)) errors.push(`${path}[${i}].name: Duplicate value: ${JSON.stringify(name)}`);
    seen.add(name);
  }
}

/** An address in two pools could be allocated to two services. */
function refuseOverlaps(pools: readonly Pool[], errors: string[]): void {
  for (const [i, pool] of pools.entries()) {
    for (const earlier of pools.slice(0, i)) {
      if (!pool.ranges.some((range) => earlier.ranges.some((other) => rangesOverlap(range, other)))) continue;
      errors.push(
        `pools[${i}].addresses: Invalid value: overlap with those of the pool ${JSON.stringify(earlier.name)}`,
      );
    }
  }
}
