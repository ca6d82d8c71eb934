import type { Pod } from '#api/core/v1/types.gen.js';
import { addQuantities } from '#apimachinery/quantity.js';
import type { Change, Explanation, Remedy } from '#scheduler/explain/explanation.js';

/** Explains a pod that the API server refuses to create, with the server's message. */
export function notAdmitted({ metadata, spec }: Pod, message: string, priorityApi: string): Explanation {
  const remedy = remedyFor(metadata.namespace ?? '', message, priorityApi);
  return {
    pod: {
      namespace: metadata.namespace ?? '',
      name: metadata.name ?? '',
      schedulerName: spec.schedulerName ?? '',
      priority: spec.priority ?? 0,
    },
    outcome: 'NotAdmitted',
    message,
    nodes: { total: 0, fitting: 0 },
    refused: [],
    scores: [],
    remedies: remedy === undefined ? [] : [remedy],
  };
}

function remedyFor(namespace: string, message: string, priorityApi: string): Remedy | undefined {
  const remedy = (text: string, change: Change): Remedy => ({ text, changes: [change], checked: false });
  const quota = /exceeded quota: (\S+), requested: (.*), used: (.*), limited: (.*)$/.exec(message);
  if (quota !== null) {
    const [, name = '', requested = '', used = ''] = quota;
    const before = amountsOf(used);
    const hard = Object.fromEntries(
      [...amountsOf(requested)].map(([key, request]) => [key, addQuantities(request, before.get(key) ?? '0')]),
    );
    const change = { action: 'patch', apiVersion: 'v1', kind: 'ResourceQuota', namespace, name } as const;
    return remedy(`raise the quota ${name}`, { ...change, patch: { spec: { hard } } });
  }
  const [, priority] = /no PriorityClass with name (\S+) was found/.exec(message) ?? [];
  if (priority !== undefined) {
    const object = { apiVersion: priorityApi, kind: 'PriorityClass', metadata: { name: priority }, value: 0 };
    return remedy(`create the PriorityClass ${priority}`, { action: 'create', object });
  }
  const [, missing] = /namespaces "([^"]+)" not found/.exec(message) ?? [];
  if (missing === undefined) return undefined;
  const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: missing } };
  return remedy(`create the namespace ${missing}`, { action: 'create', object });
}

/** `pods=1,requests.cpu=2`. */
function amountsOf(text: string): Map<string, string> {
  return new Map(
    text.split(',').flatMap((part): [string, string][] => {
      const [key = '', amount = ''] = part.split('=');
      return amount === '' ? [] : [[key, amount]];
    }),
  );
}
