import { useEffect, useRef, useState } from 'preact/hooks';
import { useApp } from '#dashboard/client/parts/app-context.js';
import type { LiveHandle } from '#dashboard/client/platform/worker-link.js';
import type { LiveSpecs, LiveStates, LiveType } from '#dashboard/model/messages.js';

/** The live state of what is specified; undefined until the first one, and while there is no specification. */
export function useLive<T extends LiveType>(spec: LiveSpecs[T] | undefined): LiveStates[T] | undefined {
  const { link } = useApp();
  const [state, setState] = useState<LiveStates[T] | undefined>(undefined);
  const handle = useRef<LiveHandle<T> | undefined>(undefined);
  const key = spec === undefined ? undefined : JSON.stringify(spec);
  useEffect(() => {
    if (spec === undefined) {
      handle.current?.close();
      handle.current = undefined;
      setState(undefined);
    } else if (handle.current === undefined) handle.current = link.show(spec, setState);
    else handle.current.change(spec);
  }, [key, link]);
  useEffect(
    () => () => {
      handle.current?.close();
      handle.current = undefined;
    },
    [link],
  );
  return state;
}
