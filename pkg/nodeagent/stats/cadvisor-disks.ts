/** Block device and file system metrics of `/metrics/cadvisor`. */
import type { Family, Sample } from '#daemon/metrics/exposition.js';
import type { DiskOperations, DiskUsage } from '#nodeagent/node/host-usage.js';
import type { DeviceIO } from '#nodeagent/stats/block-io.js';
import type { Subject } from '#nodeagent/stats/cadvisor-rows.js';
import type { NodeUsage } from '#nodeagent/stats/collector.js';

const sectorBytes = 512;

/** Metrics of containers and pods, from their cgroups. */
const deviceRows: readonly (readonly [name: string, help: string, value: (io: DeviceIO) => number | undefined])[] = [
  ['reads_bytes_total', 'Cumulative count of bytes read', ({ bytes }) => bytes['Read']],
  ['reads_total', 'Cumulative count of reads completed', ({ operations }) => operations['Read']],
  ['writes_bytes_total', 'Cumulative count of bytes written', ({ bytes }) => bytes['Write']],
  ['writes_total', 'Cumulative count of writes completed', ({ operations }) => operations['Write']],
];

type DiskRow = readonly [name: string, type: Family['type'], help: string, value: (disk: DiskUsage) => number];

function operationRows(one: 'read' | 'write', done: string, of: (disk: DiskUsage) => DiskOperations): DiskRow[] {
  const many = `${one}s`;
  return [
    [`${many}_bytes_total`, 'counter', `Cumulative count of bytes ${done}`, (disk) => of(disk).sectors * sectorBytes],
    [`${many}_merged_total`, 'counter', `Cumulative count of ${many} merged`, (disk) => of(disk).merged],
    [`${many}_total`, 'counter', `Cumulative count of ${many} completed`, (disk) => of(disk).completed],
    [`sector_${many}_total`, 'counter', `Cumulative count of sector ${many} completed`, (disk) => of(disk).sectors],
    [`${one}_seconds_total`, 'counter', `Cumulative count of seconds spent on ${one}s`, (disk) => of(disk).seconds],
  ];
}

/** Metrics of the machine, from its mounted disks. */
const diskRows: readonly DiskRow[] = [
  ...operationRows('read', 'read', ({ reads }) => reads),
  ...operationRows('write', 'written', ({ writes }) => writes),
  ['io_current', 'gauge', 'Number of I/Os currently in progress', ({ current }) => current],
  [
    'io_time_seconds_total',
    'counter',
    'Cumulative count of seconds spent doing I/Os',
    ({ busySeconds }) => busySeconds,
  ],
  [
    'io_time_weighted_seconds_total',
    'counter',
    'Cumulative weighted I/O time in seconds',
    ({ weightedSeconds }) => weightedSeconds,
  ],
];

type Kind = Omit<Family, 'samples'>;

/** Families in the order of their first sample. */
class Families {
  readonly #families = new Map<string, Family & { samples: Sample[] }>();

  add(kind: Kind, { labels, timestampMs }: Subject, more: Readonly<Record<string, string>>, value: number): void {
    const family = this.#families.get(kind.name) ?? { ...kind, samples: [] };
    this.#families.set(kind.name, family);
    family.samples.push({ labels: { ...labels, ...more }, value, timestampMs });
  }

  list(): Family[] {
    return [...this.#families.values()];
  }
}

const usage: Kind = {
  name: 'container_fs_usage_bytes',
  type: 'gauge',
  help: 'Number of bytes that are consumed by the container on this filesystem.',
};
const perDevice: Kind = {
  name: 'container_blkio_device_usage_total',
  type: 'counter',
  help: 'Blkio Device bytes usage',
};

/** `subjects`: the machine comes first. */
export function diskFamilies(subjects: readonly Subject[], node: NodeUsage): Family[] {
  const families = new Families();
  const [machine, ...others] = subjects;
  if (machine !== undefined) addMachine(families, machine, node);
  for (const subject of others) addSubject(families, subject);
  return families.list();
}

function addMachine(families: Families, machine: Subject, { host, filesystem }: NodeUsage): void {
  for (const disk of host?.disks ?? []) {
    for (const [name, type, help, value] of diskRows)
      families.add({ name: `container_fs_${name}`, type, help }, machine, { device: disk.device }, value(disk));
  }
  if (filesystem === undefined) return;
  const device = { device: host?.rootDevice ?? '' };
  const gauge = (name: string, help: string, value: number) =>
    families.add({ name: `container_fs_${name}`, type: 'gauge', help }, machine, device, value);
  gauge('inodes_free', 'Number of available Inodes', filesystem.inodesFree);
  gauge('inodes_total', 'Number of Inodes', filesystem.inodes);
  const limit = 'Number of bytes that can be consumed by the container on this filesystem.';
  gauge('limit_bytes', limit, filesystem.capacityBytes);
  families.add(usage, machine, device, filesystem.usedBytes);
}

/** Adds a container or pod. A container's usage is that of its writable layer, without a device name. */
function addSubject(families: Families, subject: Subject): void {
  const { writtenBytes, details } = subject;
  if (writtenBytes !== undefined) families.add(usage, subject, { device: '' }, writtenBytes);
  for (const io of details?.devices ?? []) {
    const { device, major, minor } = io;
    for (const [name, help, value] of deviceRows) {
      const number = value(io);
      if (number !== undefined)
        families.add({ name: `container_fs_${name}`, type: 'counter', help }, subject, { device }, number);
    }
    for (const [operation, bytes] of Object.entries(io.bytes))
      families.add(perDevice, subject, { device, major, minor, operation }, bytes);
  }
}
