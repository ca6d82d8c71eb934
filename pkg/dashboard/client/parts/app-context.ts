/** What all pages share. */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Dialect } from '#apimachinery/dialect.js';
import type { HttpRequests } from '#dashboard/client/platform/http.js';
import type { Session } from '#dashboard/client/platform/session.js';
import type { WorkerLink } from '#dashboard/client/platform/worker-link.js';
import type { Catalog } from '#dashboard/model/catalog.js';
import type { UsageHistory } from '#dashboard/model/history.js';
import type { Place } from '#dashboard/model/places.js';

export interface App {
  readonly session: Session;
  readonly requests: HttpRequests;
  readonly link: WorkerLink;
  readonly dialect: Dialect;
  readonly catalog: Catalog;
  /** Of measurements, for plots. */
  readonly history: UsageHistory;
  readonly place: Place;
  /** Of the page's address; undefined: all namespaces. */
  readonly namespace: string | undefined;
  /** Goes to a page; `replace` leaves no entry in the history. */
  readonly go: (link: string, options?: { readonly replace?: boolean }) => void;
}

export const AppContext = createContext<App | undefined>(undefined);

export function useApp(): App {
  const app = useContext(AppContext);
  if (app === undefined) throw new Error('a page is shown inside of the application');
  return app;
}
