/** Debian's Chromium, driven as people use it, with what a page may not do turned into failures. */
import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';

const program = '/usr/bin/chromium';

/** Why pages cannot be tested here; undefined if they can. */
export function whyNoBrowser(): string | undefined {
  return existsSync(program) ? undefined : 'no chromium (package chromium)';
}

/** `more`: further arguments. */
export function startBrowser(more: readonly string[] = []): Promise<Browser> {
  return chromium.launch({
    executablePath: program,
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
      ...['--disable-component-update', '--disable-sync', '--hide-scrollbars', '--force-color-profile=srgb'],
      ...more,
    ],
  });
}

/** What a page has done wrong: errors, violations of its policy, requests to other hosts. */
export interface Conduct {
  readonly faults: string[];
  /** Paths of the API that were read with success, without queries. */
  readonly granted: string[];
  /** Paths of all namespaces that were answered with what the user may see, and the namespaces in each answer. */
  readonly visible: { readonly path: string; readonly namespaces: Promise<readonly string[]> }[];
}

/** All of a body's namespaces, and more than those if a name is like one. */
function namespacesIn(text: string): string[] {
  return [...new Set([...text.matchAll(/"namespace":"([^"]+)"/g)].map(([, name = '']) => name))];
}

export function watchConduct(page: Page, host: string): Conduct {
  const conduct: Conduct = { faults: [], granted: [], visible: [] };
  page.on('pageerror', (error) => conduct.faults.push(`error: ${error.message}`));
  page.on('console', (message) => {
    const text = message.text();
    // A refused request is a test's own business.
    if (message.type() === 'error' && !/Failed to load resource/.test(text)) conduct.faults.push(`console: ${text}`);
    if (/Content Security Policy|Trusted ?Type/i.test(text)) conduct.faults.push(`policy: ${text}`);
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.host !== host && url.protocol !== 'data:') conduct.faults.push(`another host: ${request.url()}`);
  });
  page.on('response', (response) => {
    const { pathname, searchParams } = new URL(response.url());
    const isRead = response.request().method() === 'GET' && response.ok();
    if (isRead && searchParams.has('visible'))
      // A page that has gone on before the end of the answer has shown nothing of it.
      conduct.visible.push({ path: pathname, namespaces: response.text().then(namespacesIn, () => []) });
    else if (isRead && /^\/apis?(?:\/|$)/.test(pathname)) conduct.granted.push(pathname);
  });
  page.on('websocket', (socket) => {
    const url = new URL(socket.url());
    if (url.host !== host) conduct.faults.push(`another host: ${socket.url()}`);
    const path = url.searchParams.get('path');
    const isVisible = path?.includes('visible=true') === true;
    socket.on('framereceived', ({ payload }) => {
      if (isVisible)
        conduct.visible.push({
          path: path?.split('?', 1)[0] ?? '',
          namespaces: Promise.resolve(namespacesIn(String(payload))),
        });
      else if (path !== null && payload === '{"status":200}') conduct.granted.push(path.split('?', 1)[0] ?? '');
    });
  });
  return conduct;
}
