/** Reads and validates the options of node ranges, as 1.24 does. Pure. */
import { type IPBlock, parseCIDR } from '#apimachinery/net/ip.js';
import { maxBlockBits } from '#controllers/nodeipam/cidr-set.js';

export interface RangeOptions {
  readonly 'cidr-allocator-type': string;
  /** One range, or one per family separated by a comma. */
  readonly 'cluster-cidr'?: string | undefined;
  /** 0: use the options by family. */
  readonly 'node-cidr-mask-size': number;
  readonly 'node-cidr-mask-size-ipv4': number;
  readonly 'node-cidr-mask-size-ipv6': number;
  /** The format of `cluster-cidr`. */
  readonly 'service-cluster-ip-range'?: string | undefined;
}

export interface NodeRange {
  readonly range: IPBlock;
  /** The prefix length of a node's block. */
  readonly prefix: number;
}

const allocatorTypes = ['RangeAllocator', 'CloudAllocator', 'IPAMFromCluster', 'IPAMFromCloud'];
const defaultPrefix = { 4: 24, 6: 64 } as const;

function parts(text: string | undefined): string[] {
  return (text ?? '').split(',').map((part) => part.trim());
}

/** One range per family, the primary family first. The options must have passed `rangeErrors`. */
export function nodeRanges(options: RangeOptions): NodeRange[] {
  const blocks = parts(options['cluster-cidr']).flatMap((text) => parseCIDR(text) ?? []);
  return blocks.map((range) => ({ range, prefix: prefixOf(options, range.family) }));
}

function prefixOf(options: RangeOptions, family: 4 | 6): number {
  return options['node-cidr-mask-size'] || options[`node-cidr-mask-size-ipv${family}`] || defaultPrefix[family];
}

/** Service ranges, which are not allocated to nodes. `unknown` has malformed ranges, which are ignored as in 1.24. */
export function serviceRanges(options: RangeOptions): { ranges: IPBlock[]; unknown: string[] } {
  const texts = parts(options['service-cluster-ip-range']).filter((text) => text !== '');
  return {
    ranges: texts.flatMap((text) => parseCIDR(text) ?? []),
    unknown: texts.filter((text) => parseCIDR(text) === undefined),
  };
}

/** `explicit`: names of the options that were set. */
export function rangeErrors(options: RangeOptions, explicit: ReadonlySet<string>): string[] {
  const type = options['cidr-allocator-type'];
  if (!allocatorTypes.includes(type)) return [`--cidr-allocator-type: unknown type ${JSON.stringify(type)}`];
  if (type !== 'RangeAllocator') return [`--cidr-allocator-type=${type} requires a cloud provider, and there is none`];
  const texts = parts(options['cluster-cidr']);
  if (texts.join('') === '') return ['--allocate-node-cidrs requires --cluster-cidr'];
  const bad = texts.filter((text) => parseCIDR(text) === undefined);
  if (bad.length > 0) return bad.map((text) => `--cluster-cidr: ${JSON.stringify(text)} is no CIDR`);
  const ranges = nodeRanges(options);
  if (ranges.length > 2) return ['--cluster-cidr must not have more than two ranges'];
  const families = ranges.map(({ range }) => range.family);
  if (new Set(families).size < families.length) return ['--cluster-cidr: two ranges must be of different families'];
  const [service, secondary] = serviceRanges(options).ranges;
  if (service !== undefined && service.family === secondary?.family) {
    return ['--service-cluster-ip-range: two ranges must be of different families'];
  }
  const errors = maskErrors(options, explicit, families);
  return errors.length > 0 ? errors : ranges.flatMap((each, i) => sizeErrors(each, texts[i] ?? ''));
}

function maskErrors(options: RangeOptions, explicit: ReadonlySet<string>, families: readonly (4 | 6)[]): string[] {
  const isSet = (name: keyof RangeOptions & `node-cidr-${string}`) => explicit.has(name) && options[name] !== 0;
  const plain = isSet('node-cidr-mask-size');
  const ofFamily = ([4, 6] as const).filter((family) => isSet(`node-cidr-mask-size-ipv${family}`));
  if (plain && families.length > 1) {
    return ['--node-cidr-mask-size must not be given with two ranges: each family has an option of its own'];
  }
  if (plain && ofFamily.length > 0) {
    return ofFamily.map(
      (family) => `--node-cidr-mask-size-ipv${family} must not be combined with --node-cidr-mask-size`,
    );
  }
  return ofFamily
    .filter((family) => !families.includes(family))
    .map((family) => `--node-cidr-mask-size-ipv${family} requires a range of IPv${family} in --cluster-cidr`);
}

function sizeErrors({ range, prefix }: NodeRange, text: string): string[] {
  const longest = range.family === 4 ? 32 : 128;
  if (prefix < range.prefix || prefix > longest) {
    return [
      `--cluster-cidr ${text} has no room for a node's /${prefix}: it must be between /${range.prefix} and /${longest}`,
    ];
  }
  if (prefix - range.prefix <= maxBlockBits) return [];
  const widest = range.prefix + maxBlockBits;
  return [`--cluster-cidr ${text} has too many ranges of /${prefix} for nodes; give them /${widest} at most`];
}
