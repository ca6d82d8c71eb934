/**
 * Detects fields that the message descriptors lack: fields that a runtime sends, and fields that the agent sends. For
 * tests.
 */
import protobuf from 'protobufjs';
import type { Message, MessageInspector } from '#nodeagent/grpc/channel.js';

/** Paths of fields in `bytes` that the type does not declare, such as `ListPodSandboxResponse.items.9`. */
function unknownFields(type: protobuf.Type, bytes: Uint8Array, path = type.name): string[] {
  const reader = protobuf.Reader.create(bytes);
  const paths: string[] = [];
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    const [id, wireType] = [tag >>> 3, tag & 7];
    const field = type.fieldsById[id]?.resolve();
    if (field === undefined) paths.push(`${path}.${id}`);
    const inner = field?.resolvedType instanceof protobuf.Type ? field.resolvedType : undefined;
    if (wireType !== 2 || (inner === undefined && !(field instanceof protobuf.MapField))) reader.skipType(wireType);
    else if (field instanceof protobuf.MapField)
      paths.push(...unknownInEntry(inner, reader.bytes(), `${path}.${field.name}`));
    else if (inner !== undefined) paths.push(...unknownFields(inner, reader.bytes(), `${path}.${field?.name}`));
  }
  return paths;
}

/** An entry of a map: its key is field 1, its value field 2. */
function unknownInEntry(value: protobuf.Type | undefined, bytes: Uint8Array, path: string): string[] {
  const reader = protobuf.Reader.create(bytes);
  const paths: string[] = [];
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    const id = tag >>> 3;
    if (id > 2) paths.push(`${path}.${id}`);
    if (id === 2 && value !== undefined) paths.push(...unknownFields(value, reader.bytes(), path));
    else reader.skipType(tag & 7);
  }
  return paths;
}

/** Paths of members of `value` that the type does not declare, so that the encoder drops them. */
function droppedMembers(type: protobuf.Type, value: Message, path = type.name): string[] {
  return Object.entries(value).flatMap(([name, member]) => {
    const field = type.fields[name]?.resolve();
    if (field === undefined) return [`${path}.${name}`];
    const inner = field.resolvedType;
    if (!(inner instanceof protobuf.Type) || member === undefined || member === null) return [];
    const members = field.repeated ? (member as Message[]) : field.map ? Object.values(member) : [member];
    return members.flatMap((each) => droppedMembers(inner, each as Message, `${path}.${name}`));
  });
}

/** Fields that the interface got after release 1.24, which newer runtimes send to every agent. */
const laterFields: ReadonlySet<string> = new Set([
  ...['StatusResponse.3', 'StatusResponse.4', 'PodSandboxStatusResponse.3', 'PodSandboxStatusResponse.4'],
  ...['ContainerStatusResponse.status.18', 'ContainerStatusResponse.status.19', 'ImageFsInfoResponse.2'],
  ...['ContainerStatsResponse.stats.5', 'ContainerStatsResponse.stats.6'],
  ...['ListContainerStatsResponse.stats.5', 'ListContainerStatsResponse.stats.6'],
]);

/** Collects fields missing in the descriptors of the container runtime interface. */
export class MissingFields implements MessageInspector {
  readonly paths = new Set<string>();

  request(type: protobuf.Type, value: Message): void {
    if (isRuntimeMessage(type)) for (const path of droppedMembers(type, value)) this.paths.add(path);
  }

  response(type: protobuf.Type, bytes: Buffer): void {
    if (!isRuntimeMessage(type)) return;
    for (const path of unknownFields(type, bytes)) if (!laterFields.has(path)) this.paths.add(path);
  }
}

/** The descriptors of containerd's events are incomplete on purpose. */
function isRuntimeMessage(type: protobuf.Type): boolean {
  return type.fullName.startsWith('.runtime.');
}
