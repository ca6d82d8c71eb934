/** The patches that the fake API understands: enough of RFC 6902, RFC 7386 and strategic merge for controllers' tests. */
import { badRequest } from '#apimachinery/errors/status.js';

type Json = Record<string, unknown>;

/** Merge keys of the lists that controllers and agents patch strategically in release 1.24. */
const mergeKeys: Readonly<Record<string, string>> = {
  conditions: 'type',
  addresses: 'type',
  containers: 'name',
  initContainers: 'name',
  ephemeralContainers: 'name',
  volumes: 'name',
  env: 'name',
  podIPs: 'ip',
  ownerReferences: 'uid',
  secrets: 'name',
  imagePullSecrets: 'name',
};

export function applyPatch(contentType: string, object: unknown, patch: unknown): unknown {
  switch (contentType) {
    case 'application/json-patch+json':
      return jsonPatch(object, patch);
    case 'application/merge-patch+json':
      return mergePatch(object, patch);
    case 'application/strategic-merge-patch+json':
    // Without managed fields, applying is merging.
    case 'application/apply-patch+yaml':
      return strategicPatch(object, patch, '');
    default:
      throw badRequest(`the fake API does not know patches of type ${contentType}`);
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Json = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = mergePatch(result[name], value);
  }
  return result;
}

function strategicPatch(target: unknown, patch: unknown, field: string): unknown {
  if (Array.isArray(patch)) return strategicList(Array.isArray(target) ? target : [], patch, field);
  if (!isObject(patch)) return patch;
  if (patch['$patch'] === 'replace') return without(patch, '$patch');
  const result: Json = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith('$deleteFromPrimitiveList/')) {
      const list = name.slice('$deleteFromPrimitiveList/'.length);
      result[list] = asList(result[list]).filter((item) => !asList(value).includes(item));
    } else if (name.startsWith('$')) continue;
    else if (value === null) delete result[name];
    else result[name] = strategicPatch(result[name], value, name);
  }
  return result;
}

function strategicList(target: unknown[], patch: unknown[], field: string): unknown[] {
  if (field === 'finalizers') return [...new Set([...target, ...patch])];
  const key = mergeKeys[field];
  if (key === undefined) return patch;
  const result = [...target];
  for (const item of patch) {
    if (!isObject(item)) throw badRequest(`an item of ${field} is not an object`);
    const index = result.findIndex((other) => isObject(other) && other[key] === item[key]);
    if (item['$patch'] === 'delete') {
      if (index >= 0) result.splice(index, 1);
    } else if (index >= 0) result[index] = strategicPatch(result[index], item, '');
    else result.push(item);
  }
  return result;
}

function jsonPatch(object: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw badRequest('a JSON patch is a list');
  const root: Json = { '': structuredClone(object) };
  for (const step of patch as Json[]) {
    const path = ['', ...String(step['path']).split('/').slice(1).map(unescapePart)];
    const last = path.pop() ?? '';
    const parent = path.reduce<unknown>((value, part) => at(value, part), root);
    switch (step['op']) {
      case 'test':
        if (JSON.stringify(at(parent, last)) !== JSON.stringify(step['value']))
          throw badRequest('the patch test failed');
        break;
      case 'add':
      case 'replace':
        put(parent, last, step['value'], step['op'] === 'add');
        break;
      case 'remove':
        if (Array.isArray(parent)) parent.splice(Number(last), 1);
        else if (isObject(parent)) delete parent[last];
        break;
      default:
        throw badRequest(`the fake API does not know the patch operation ${String(step['op'])}`);
    }
  }
  return root[''];
}

function at(value: unknown, part: string): unknown {
  if (Array.isArray(value)) return value[Number(part)];
  return isObject(value) ? value[part] : undefined;
}

function put(parent: unknown, part: string, value: unknown, insert: boolean): void {
  if (Array.isArray(parent)) {
    const index = part === '-' ? parent.length : Number(part);
    parent.splice(index, insert ? 0 : 1, value);
  } else if (isObject(parent)) parent[part] = value;
  else throw badRequest(`the patch's parent of ${part} does not exist`);
}

function unescapePart(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function without(object: Json, name: string): Json {
  const { [name]: _, ...rest } = object;
  return rest;
}
