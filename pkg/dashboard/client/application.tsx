import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { Login } from '#dashboard/client/login.js';
import { Routes } from '#dashboard/client/pages/routes.js';
import { type App, AppContext } from '#dashboard/client/parts/app-context.js';
import { Quiet, TroubleNotice } from '#dashboard/client/parts/notice.js';
import { Shell } from '#dashboard/client/parts/shell.js';
import { HttpRequests } from '#dashboard/client/platform/http.js';
import { finishLogin, openSession, type Session, type SessionInfo } from '#dashboard/client/platform/session.js';
import { WorkerLink } from '#dashboard/client/platform/worker-link.js';
import { type Discovery, discover } from '#dashboard/live/discover.js';
import { UsageHistory } from '#dashboard/model/history.js';
import { type Place, parsePlace } from '#dashboard/model/places.js';
import { type Trouble, troubleFrom } from '#dashboard/model/trouble.js';

/** Opens the session, then shows the login or the pages. */
export function Application() {
  const [info, setInfo] = useState<SessionInfo | undefined>(undefined);
  const [session, setSession] = useState<Session | undefined>(undefined);
  const [trouble, setTrouble] = useState<Trouble | undefined>(undefined);
  const [refused, setRefused] = useState<Trouble | undefined>(undefined);
  useEffect(() => {
    const open = async () => {
      const opened = await openSession();
      if (opened.mode === 'local') setSession({ info: opened, credentials: { kind: 'cookie' } });
      else {
        const credentials = await finishLogin().catch((error: unknown): undefined => {
          setRefused(troubleFrom(error));
        });
        if (credentials !== undefined) setSession({ info: opened, credentials });
      }
      setInfo(opened);
    };
    open().catch((error: unknown) => setTrouble(troubleFrom(error)));
  }, []);
  if (trouble !== undefined) return <Refused trouble={trouble} />;
  if (session !== undefined) return <Connected session={session} onRefused={() => setSession(undefined)} />;
  if (info?.mode === 'token')
    return (
      <Login
        hasProvider={info.hasProvider === true}
        refused={refused}
        onLogin={(credentials) => setSession({ info, credentials })}
      />
    );
  return info === undefined ? <Connecting /> : <Refused trouble={{ code: 401, message: '' }} />;
}

function Connecting() {
  return (
    <main class="alone">
      <Quiet>Connecting…</Quiet>
    </main>
  );
}

function Refused({ trouble }: { readonly trouble: Trouble }) {
  return (
    <main class="alone">
      <h1>Dashboard</h1>
      {trouble.code === 401 ? (
        <p>
          This page needs the whole link that <code>orchctl ui</code> has printed: open it again from there.
        </p>
      ) : (
        <TroubleNotice trouble={trouble} />
      )}
    </main>
  );
}

function Connected({ session, onRefused }: { readonly session: Session; readonly onRefused: () => void }) {
  const requests = useMemo(() => new HttpRequests(session.credentials, onRefused), [session]);
  const [discovery, setDiscovery] = useState<Discovery | undefined>(undefined);
  const [trouble, setTrouble] = useState<Trouble | undefined>(undefined);
  useEffect(() => {
    discover(requests, setDiscovery).then(setDiscovery, (error: unknown) => setTrouble(troubleFrom(error)));
  }, [requests]);
  const history = useMemo(() => new UsageHistory(), [session]);
  const [place, go] = usePlace();
  const link = useMemo(
    () => (discovery === undefined ? undefined : new WorkerLink(session.credentials, discovery.dialect.name)),
    [session, discovery?.dialect.name],
  );
  const app = useMemo<App | undefined>(() => {
    if (discovery === undefined || link === undefined) return undefined;
    const { dialect, catalog } = discovery;
    const namespace = place.query['namespace'];
    return { session, requests, link, dialect, catalog, history, place, namespace, go };
  }, [session, requests, discovery, link, history, place, go]);
  if (trouble !== undefined) return <Refused trouble={trouble} />;
  if (app === undefined) return <Connecting />;
  return (
    <AppContext.Provider value={app}>
      <Shell>
        <Routes />
      </Shell>
    </AppContext.Provider>
  );
}

/** The page's address. Links of the page do not load it anew. */
function usePlace(): readonly [Place, App['go']] {
  const read = () => parsePlace(location.pathname, location.search);
  const [place, setPlace] = useState(read);
  const go = useCallback<App['go']>((link, options = {}) => {
    if (options.replace === true) window.history.replaceState(null, '', link);
    else {
      window.history.pushState(null, '', link);
      document.querySelector('main')?.scrollTo(0, 0);
    }
    setPlace(read());
  }, []);
  useEffect(() => {
    const back = () => setPlace(read());
    const click = (event: MouseEvent) => {
      const { target, button, metaKey, ctrlKey, shiftKey, altKey, defaultPrevented } = event;
      if (defaultPrevented || button !== 0 || metaKey || ctrlKey || shiftKey || altKey) return;
      const anchor = target instanceof Element ? target.closest('a') : null;
      const href = anchor?.getAttribute('href');
      if (anchor === null || href?.startsWith('/ui/') !== true || anchor.target !== '') return;
      event.preventDefault();
      go(href);
    };
    addEventListener('popstate', back);
    document.addEventListener('click', click);
    return () => {
      removeEventListener('popstate', back);
      document.removeEventListener('click', click);
    };
  }, [go]);
  return [place, go];
}
