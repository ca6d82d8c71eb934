import { useEffect, useMemo, useState } from 'preact/hooks';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { useLive } from '#dashboard/client/parts/use-live.js';
import type { ApiObject } from '#dashboard/model/api-object.js';
import { apiVersionOf, collectionPath, type Kind, objectPath } from '#dashboard/model/catalog.js';
import type { Liveness } from '#dashboard/model/messages.js';
import { type Trouble, troubleFrom } from '#dashboard/model/trouble.js';

export interface ObjectState {
  readonly object: ApiObject | undefined;
  readonly liveness: Liveness;
  readonly trouble: Trouble | undefined;
}

/** One object, watched; read once where the user may get but not list it. */
export function useObject(kind: Kind, namespace: string, name: string): ObjectState {
  const { requests } = useApp();
  const [read, setRead] = useState<Pick<ObjectState, 'object' | 'trouble'> | undefined>(undefined);
  const state = useLive<'objects'>({
    type: 'objects',
    sources: [
      {
        path: collectionPath(kind, namespace),
        fieldSelector: `metadata.name=${name}`,
        isUnwatched: !kind.verbs.includes('watch'),
      },
    ],
  });
  const list = state?.lists[0];
  const isRefused = list?.trouble?.code === 403;
  useEffect(() => {
    if (!isRefused) return;
    requests.json<ApiObject>(objectPath(kind, namespace, name)).then(
      (object) => setRead({ object, trouble: undefined }),
      (error: unknown) => setRead({ object: undefined, trouble: troubleFrom(error) }),
    );
  }, [isRefused, requests, kind, namespace, name]);
  const item = list?.items[0];
  // Items of lists have neither.
  const object = useMemo(() => item && { ...item, apiVersion: apiVersionOf(kind), kind: kind.kind }, [item, kind]);
  if (isRefused) return { liveness: 'loading', ...(read ?? { object: undefined, trouble: undefined }) };
  const liveness = list?.liveness ?? 'loading';
  const isGone = object === undefined && liveness === 'live';
  const trouble = isGone ? { code: 404, message: `${kind.kind} ${name} does not exist.` } : list?.trouble;
  return { object, liveness, trouble };
}
