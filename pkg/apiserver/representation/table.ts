/** Tables: objects as rows of cells, for command-line clients (specification 1, 2.6). */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { StrategyContext } from '#api/strategy/strategy.js';
import type { Steps } from '#apimachinery/async/steps.js';
import { badRequest } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { ColumnDeclaration } from '#apimachinery/schema/schema.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import type { Transform } from '#apiserver/http/content-negotiation.js';
import { partialJson } from '#apiserver/representation/partial-metadata.js';
import { jsonOfObject, objectSteps, type ServedResource } from '#apiserver/resources/served-resource.js';
import type { Entry } from '#storage/resource-storage.js';

/** The description of a kind's column; empty if there is none. */
export function columnDescription(type: TypeInfo, column: string): string {
  const metadata = type.byName.get('metadata')?.type;
  if (column === 'Name') return fieldDescription(metadata, 'name');
  if (column === 'Age' || column === 'Created At') return fieldDescription(metadata, 'creationTimestamp');
  const text = Object.hasOwn(descriptions, column) ? descriptions[column] : undefined;
  if (text !== undefined) return text;
  const places = [type, type.byName.get('spec')?.type, type.byName.get('status')?.type];
  const normalized = letters(column);
  for (const place of places) {
    for (const name of place?.byName.keys() ?? [])
      if (letters(name) === normalized) return fieldDescription(place, name);
  }
  return '';
}

function fieldDescription(type: TypeInfo | undefined, field: string): string {
  return type?.byName.get(field)?.doc ?? '';
}

/** Ignores the blanks and capitals in which column and field names differ. */
const letters = (name: string): string => name.replace(/[^A-Za-z]/g, '').toLowerCase();

const descriptions: Readonly<Record<string, string>> = {
  Available: "How many of the objects' pods, or whether the service, can be used.",
  Controller: 'The object that the revision belongs to.',
  Desired: 'How many pods there should be.',
  Current: 'How many pods there are.',
  Ready: 'How much of what there should be is ready for traffic.',
  'Up-to-date': 'How many pods are of the present template.',
  'Node Selector': 'Labels that nodes must have.',
  Containers: 'Names of the containers in the template.',
  Images: 'Images of the containers in the template.',
  Reference: 'The object that is scaled.',
  Targets: 'What the metrics are, and what they should be.',
  MinPods: 'Fewest pods that it scales to.',
  MaxPods: 'Most pods that it scales to.',
  Replicas: 'How many pods the scaled object has.',
  'Last Schedule': 'When the last job was started.',
  Selector: 'Labels of the pods that belong to the object.',
  Duration: 'How long the job has run, or ran.',
  Requestor: 'User who made the request.',
  RequestedDuration: 'How long the certificate should be valid.',
  Condition: 'What was decided about the request.',
  Holder: 'Who holds the lease.',
  Status: 'How it is.',
  Message: 'What happened, or why it is so.',
  Error: 'Why the status is not known.',
  Endpoints: 'Addresses and ports of the pods that are ready.',
  'Last Seen': 'When it happened last.',
  Object: 'The object that it happened to.',
  Subobject: 'The part of the object that it happened to.',
  'First Seen': 'When it happened first.',
  Roles: 'Roles that labels give the node.',
  Version: 'Version of the node agent.',
  'Internal-IP': "Addresses of the node inside of the cluster's network.",
  'External-IP': 'Addresses for those outside of the cluster.',
  'OS-Image': 'Operating system of the node.',
  'Kernel-Version': "Version of the node's kernel.",
  'Container-Runtime': 'Container runtime of the node, and its version.',
  'Reclaim Policy': 'What becomes of the volume when its claim is gone.',
  Claim: 'The claim that has the volume.',
  StorageClass: 'Name of the storage class.',
  Volume: 'Name of the volume that the claim has.',
  Restarts: 'How often containers were restarted, and when last.',
  IP: 'Address of the pod.',
  Node: 'Name of the node.',
  'Nominated Node': 'Node on which the scheduler makes room for the pod.',
  'Pod Labels': 'Labels of the template.',
  Request: 'Requests that are counted, and how much of them is allowed.',
  Limit: 'Limits that are counted, and how much of them is allowed.',
  Source: 'The component that reported it.',
  Count: 'How often it happened.',
  PriorityLevel: 'Priority level of the requests that match.',
  MissingPL: 'Whether the priority level is missing.',
  AssuredConcurrencyShares: "Share of the server's requests that the level is sure of.",
  Queues: 'How many queues requests wait in.',
  HandSize: 'How many queues a flow has.',
  QueueLengthLimit: 'How many requests wait in a queue at most.',
  cpu: 'CPU that was used.',
  memory: 'Memory that was used.',
  Class: 'Name of the class of the controller.',
  Hosts: 'Hosts that the rules are for.',
  Address: 'Addresses under which a balancer serves them.',
  Ports: 'Ports that are open.',
  'Allowed Disruptions': 'How many pods may be evicted now.',
  Priv: 'Whether pods may be privileged.',
  Caps: 'Capabilities that pods may ask for.',
  SupGroup: 'How the supplemental groups of pods are chosen.',
  ReadOnlyRootFs: 'Whether the root file systems of containers must be read-only.',
  Role: 'The role that is given.',
  Users: 'Users that have the role.',
  Groups: 'Groups that have the role.',
  ServiceAccounts: 'Service accounts that have the role.',
  Modes: 'Lives of volumes that the driver supports.',
  PV: 'Name of the volume to be attached.',
};

export type IncludeObject = 'None' | 'Metadata' | 'Object';

const defaultColumns: readonly ColumnDeclaration[] = [
  { name: 'Name', type: 'string', format: 'name' },
  { name: 'Created At', type: 'date' },
];

/** The part of each object that its row includes. Throws 400 for an unknown policy. */
export function includeObject(query: URLSearchParams): IncludeObject {
  const value = query.get('includeObject') ?? '';
  if (value === '') return 'Metadata';
  if (value === 'None' || value === 'Metadata' || value === 'Object') return value;
  const why = `includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`;
  throw badRequest(`Unable to convert to Table as requested: ${why}`);
}

function columnDefinitions(resource: ServedResource): object[] {
  const columns = resource.strategy.cells === undefined ? defaultColumns : resource.declaration.columns;
  return (columns ?? defaultColumns).map((column) => ({
    name: column.name,
    type: column.type,
    format: column.format ?? '',
    description: column.description ?? columnDescription(resource.type, column.name),
    priority: column.priority ?? 0,
  }));
}

function cellsOf(resource: ServedResource, object: ApiObjectShape, context: StrategyContext): unknown[] {
  if (resource.strategy.cells !== undefined && resource.declaration.columns !== undefined) {
    return resource.strategy.cells(object, context);
  }
  return [object.metadata.name ?? '', object.metadata.creationTimestamp ?? ''];
}

export interface RowOptions {
  readonly transform: Transform;
  readonly include: IncludeObject;
  readonly context: StrategyContext;
}

/** One row's JSON, in steps. Not cached, because ages change with time. */
export function* rowSteps(resource: ServedResource, entry: Entry, options: RowOptions): Steps<Buffer> {
  const source = yield* objectSteps(resource, entry);
  yield;
  const cells = toJSONText(cellsOf(resource, source, options.context));
  const conditions = resource.strategy.rowConditions?.(source) ?? [];
  const members = `"cells":${cells}${conditions.length === 0 ? '' : `,"conditions":${toJSONText(conditions)}`}`;
  if (options.include === 'None') return Buffer.from(`{${members},"object":null}`);
  const object =
    options.include === 'Object'
      ? jsonOfObject(resource, entry, source)
      : partialJson(resource, entry, options.transform);
  return Buffer.concat([Buffer.from(`{${members},"object":`), object, closing]);
}

const closing = Buffer.from('}');

export function tableMembers(resource: ServedResource, transform: Transform, metadata: object, headers = true) {
  return {
    kind: 'Table',
    apiVersion: `${transform.group}/${transform.version}`,
    metadata,
    columnDefinitions: headers ? columnDefinitions(resource) : null,
  };
}

/** The Table as text up to its rows: `{"kind":"Table",…,"rows":[`. */
export function tableHead(resource: ServedResource, transform: Transform, metadata: object, headers = true): string {
  return `${toJSONText(tableMembers(resource, transform, metadata, headers)).slice(0, -1)},"rows":[`;
}
