/** Finds mistakes in rendered pod templates without an API server. Pure. */

type Value = unknown;
type Fields = Readonly<Record<string, Value>>;

/** Duplicate names and paths, and mounts of missing volumes, of all pod templates anywhere in the values. */
export function podFaults(value: Value, path = '', claims: readonly string[] = []): string[] {
  if (value === null || typeof value !== 'object') return [];
  if (Array.isArray(value)) return value.flatMap((each, index) => podFaults(each, `${path}[${index}]`, claims));
  const fields = value as Fields;
  const place = `${path}${typeof fields['kind'] === 'string' ? ` ${fields['kind']} ${nameOf(fields['metadata'])}` : ''}`;
  // A StatefulSet's claims are volumes of its pods.
  const volumeNames = [...claims, ...list(fields['volumeClaimTemplates']).map(({ metadata }) => nameOf(metadata))];
  const own = Array.isArray(fields['containers']) ? faultsOf(fields, place, volumeNames) : [];
  return [
    ...own,
    ...Object.entries(fields).flatMap(([field, each]) => podFaults(each, `${place}.${field}`, volumeNames)),
  ];
}

function faultsOf(spec: Fields, place: string, claims: readonly string[]): string[] {
  const containers = [...list(spec['initContainers']), ...list(spec['containers'])];
  const volumes = [...list(spec['volumes']).map(nameOf), ...claims];
  return [
    ...twice(`${place}: volume`, volumes),
    ...twice(`${place}: container`, containers.map(nameOf)),
    ...containers.flatMap((container) => {
      const where = `${place}: ${nameOf(container)}`;
      const mounts = list(container['volumeMounts']);
      const unknown = mounts.map(nameOf).filter((name) => !volumes.includes(name));
      return [
        ...twice(
          `${where}: mount path`,
          mounts.map(({ mountPath }) => String(mountPath)),
        ),
        ...twice(`${where}: variable`, list(container['env']).map(nameOf)),
        ...twice(`${where}: port`, list(container['ports']).map(nameOf)),
        ...unknown.map((name) => `${where}: no volume ${name}`),
      ];
    }),
  ];
}

function twice(what: string, names: readonly string[]): string[] {
  return names.filter((name, index) => names.indexOf(name) !== index).map((name) => `${what} ${name} twice`);
}

function list(value: Value): readonly Fields[] {
  return Array.isArray(value) ? (value as Fields[]) : [];
}

function nameOf(value: Value): string {
  return String((value as Fields | undefined)?.['name']);
}
