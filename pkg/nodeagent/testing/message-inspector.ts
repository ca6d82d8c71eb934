/** Finds what a description of messages lacks: fields that a runtime sends and fields that it is to be sent. For tests. */
import protobuf from 'protobufjs';
import type { Message, MessageInspector } from '#nodeagent/cri/grpc/channel.js';

/** Paths of the fields in `bytes` that the type does not declare, such as `ListPodSandboxResponse.items.9`. */
function unknownFields(type: protobuf.Type, bytes: Uint8Array, path = type.name): string[] {
  const reader = protobuf.Reader.create(bytes);
  const found: string[] = [];
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    const [id, wireType] = [tag >>> 3, tag & 7];
    const field = type.fieldsById[id]?.resolve();
    if (field === undefined) found.push(`${path}.${id}`);
    const inner = field?.resolvedType instanceof protobuf.Type ? field.resolvedType : undefined;
    if (wireType !== 2 || (inner === undefined && !(field instanceof protobuf.MapField))) reader.skipType(wireType);
    else if (field instanceof protobuf.MapField)
      found.push(...unknownInEntry(inner, reader.bytes(), `${path}.${field.name}`));
    else if (inner !== undefined) found.push(...unknownFields(inner, reader.bytes(), `${path}.${field?.name}`));
  }
  return found;
}

/** An entry of a map: its key is field 1, its value field 2. */
function unknownInEntry(value: protobuf.Type | undefined, bytes: Uint8Array, path: string): string[] {
  const reader = protobuf.Reader.create(bytes);
  const found: string[] = [];
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    const id = tag >>> 3;
    if (id > 2) found.push(`${path}.${id}`);
    if (id === 2 && value !== undefined) found.push(...unknownFields(value, reader.bytes(), path));
    else reader.skipType(tag & 7);
  }
  return found;
}

/** Paths of the members of `value` that the type has no field for, and that the encoder therefore leaves out. */
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

/** Collects what is missing in the messages of the container runtime interface. */
export class MissingFields implements MessageInspector {
  readonly found = new Set<string>();

  request(type: protobuf.Type, value: Message): void {
    if (ofRuntime(type)) for (const path of droppedMembers(type, value)) this.found.add(path);
  }

  answer(type: protobuf.Type, bytes: Buffer): void {
    if (ofRuntime(type)) for (const path of unknownFields(type, bytes)) this.found.add(path);
  }
}

/** Of the runtime's own events no more is described than is read. */
function ofRuntime(type: protobuf.Type): boolean {
  return type.fullName.startsWith('.runtime.');
}
