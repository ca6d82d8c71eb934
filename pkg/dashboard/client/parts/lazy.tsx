import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Quiet, TroubleNotice } from '#dashboard/client/parts/notice.js';
import { type Trouble, troubleFrom } from '#dashboard/model/trouble.js';

/** A component whose code is loaded when it is first shown. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): (props: P) => JSX.Element {
  return function Lazy(props: P) {
    const [loaded, setLoaded] = useState<{ readonly Part: ComponentType<P> } | undefined>(undefined);
    const [trouble, setTrouble] = useState<Trouble | undefined>(undefined);
    useEffect(() => {
      load().then(
        (Part) => setLoaded({ Part }),
        (error: unknown) => setTrouble(troubleFrom(error)),
      );
    }, []);
    if (trouble !== undefined) return <TroubleNotice trouble={trouble} />;
    if (loaded === undefined) return <Quiet>Loading…</Quiet>;
    return <loaded.Part {...props} />;
  };
}
