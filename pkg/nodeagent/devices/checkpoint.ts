/**
 * The devices of pods as 1.24 keeps them over restarts (devicemanager/checkpoint), with its checksum, so that an agent
 * can follow the other one on a node. Pure.
 */
import { fnv1a } from '#apimachinery/fnv.js';
import type { AssignmentEntry } from '#nodeagent/devices/assignments.js';

export interface DeviceCheckpoint {
  readonly assignments: readonly AssignmentEntry[];
  /** IDs of healthy devices by resource. */
  readonly devices: ReadonlyMap<string, readonly string[]>;
}

interface StoredEntry {
  readonly PodUID: string;
  readonly ContainerName: string;
  readonly ResourceName: string;
  /** By NUMA node; until 1.19 without nodes. */
  readonly DeviceIDs: Readonly<Record<string, readonly string[] | null>> | readonly string[] | null;
  /** In base64. */
  readonly AllocResp: string | null;
}

interface StoredData {
  readonly PodDeviceEntries: readonly StoredEntry[] | null;
  readonly RegisteredDevices: Readonly<Record<string, readonly string[] | null>> | null;
}

/** JSON, its parts in a fixed order. */
export function encodeCheckpoint({ assignments, devices }: DeviceCheckpoint): string {
  const entries = assignments.map(
    ({ podUID, container, resource, devices: groups, response }): StoredEntry => ({
      PodUID: podUID,
      ContainerName: container,
      ResourceName: resource,
      DeviceIDs: Object.fromEntries([...groups].map(([node, ids]) => [String(node), ids])),
      AllocResp: response.toString('base64'),
    }),
  );
  const sorted = [...devices].sort(([a], [b]) => (a < b ? -1 : 1));
  const data = {
    PodDeviceEntries: entries.length === 0 ? null : entries,
    RegisteredDevices: Object.fromEntries(sorted.map(([resource, ids]) => [resource, [...ids].sort()])),
  };
  return JSON.stringify({ Data: data, Checksum: fnv1a(Buffer.from(dataText(data))) });
}

/** Throws Error with 1.24's words if the content or its checksum is wrong. */
export function decodeCheckpoint(text: string): DeviceCheckpoint {
  const { Data: data, Checksum: checksum } = checkedDocument(JSON.parse(text));
  if (fnv1a(Buffer.from(dataText(data))) !== checksum) throw new Error('checkpoint is corrupted');
  return {
    assignments: (data.PodDeviceEntries ?? []).map((entry) => ({
      podUID: entry.PodUID,
      container: entry.ContainerName,
      resource: entry.ResourceName,
      devices: groupsOf(entry.DeviceIDs),
      response: Buffer.from(entry.AllocResp ?? '', 'base64'),
    })),
    devices: new Map(Object.entries(data.RegisteredDevices ?? {}).map(([name, ids]) => [name, ids ?? []])),
  };
}

/** 1.24 assumes node 0 where none is recorded. */
function groupsOf(stored: StoredEntry['DeviceIDs']): AssignmentEntry['devices'] {
  if (stored === null) return new Map();
  if (isList(stored)) return new Map([[0, stored]]);
  return new Map(Object.entries(stored).map(([node, ids]) => [Number(node), ids ?? []]));
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** Go's spew library's text of the structs, which the checksum covers. */
function dataText({ PodDeviceEntries: entries, RegisteredDevices: registered }: StoredData): string {
  const list = entries === null ? '<nil>' : `[${entries.map((entry) => entryText(entry)).join(' ')}]`;
  const devices = mapText(registered, (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)${list} RegisteredDevices:(map[string][]string)${devices}}`;
}

function entryText({ PodUID, ContainerName, ResourceName, DeviceIDs, AllocResp }: StoredEntry): string {
  const ids = isList(DeviceIDs)
    ? `([]string)${listText(DeviceIDs as readonly string[])}`
    : `(checkpoint.DevicesPerNUMA)${mapText(DeviceIDs as Exclude<typeof DeviceIDs, readonly string[]>, (a, b) => Number(a) - Number(b))}`;
  const bytes = AllocResp === null ? '<nil>' : `[${Buffer.from(AllocResp, 'base64').join(' ')}]`;
  return `{PodUID:(string)${PodUID} ContainerName:(string)${ContainerName} ResourceName:(string)${ResourceName} DeviceIDs:${ids} AllocResp:([]uint8)${bytes}}`;
}

function listText(ids: readonly string[] | null): string {
  return ids === null ? '<nil>' : `[${ids.join(' ')}]`;
}

function mapText(
  map: Readonly<Record<string, readonly string[] | null>> | null,
  compare: (a: string, b: string) => number,
): string {
  if (map === null) return '<nil>';
  const entries = Object.entries(map).sort(([a], [b]) => compare(a, b));
  return `map[${entries.map(([key, ids]) => `${key}:${listText(ids)}`).join(' ')}]`;
}

/** Throws Error if the document is not a checkpoint. */
function checkedDocument(document: unknown): { readonly Data: StoredData; readonly Checksum: number } {
  const { Data: data, Checksum } = objectOf(document, 'the checkpoint');
  const { PodDeviceEntries: entries = null, RegisteredDevices: registered = null } = objectOf(data, 'Data');
  if (typeof Checksum !== 'number') throw new Error('Checksum is not a number');
  if (entries !== null && !isList(entries)) throw new Error('Data.PodDeviceEntries is not a list');
  return {
    Checksum,
    Data: {
      PodDeviceEntries: entries === null ? null : entries.map(checkedEntry),
      RegisteredDevices: registered === null ? null : checkedLists(registered, 'Data.RegisteredDevices'),
    },
  };
}

function checkedEntry(entry: unknown): StoredEntry {
  const { PodUID, ContainerName, ResourceName, DeviceIDs = null, AllocResp = null } = objectOf(entry, 'an entry');
  if (![PodUID, ContainerName, ResourceName].every((name) => typeof name === 'string'))
    throw new Error('a name is not a string');
  if (AllocResp !== null && typeof AllocResp !== 'string') throw new Error('AllocResp is not a string');
  const ids = isList(DeviceIDs)
    ? checkedList(DeviceIDs, 'DeviceIDs')
    : DeviceIDs === null
      ? null
      : checkedLists(DeviceIDs, 'DeviceIDs');
  const names = { PodUID: PodUID as string, ContainerName: ContainerName as string };
  return { ...names, ResourceName: ResourceName as string, DeviceIDs: ids, AllocResp };
}

function checkedLists(value: unknown, what: string): Readonly<Record<string, readonly string[] | null>> {
  const entries = Object.entries(objectOf(value, what));
  return Object.fromEntries(entries.map(([key, list]) => [key, list === null ? null : checkedList(list, what)]));
}

function checkedList(value: unknown, what: string): readonly string[] {
  if (!isList(value) || !value.every((id) => typeof id === 'string'))
    throw new Error(`${what} is not a list of strings`);
  return value as readonly string[];
}

function objectOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || isList(value)) throw new Error(`${what} is not an object`);
  return value as Readonly<Record<string, unknown>>;
}
