/** A page in Chromium that records what its user waits for: paints, long tasks, and when a text appears. */
import type { CDPSession, Page } from 'playwright-core';
import { eventually } from '#test/e2e/harness.js';

/** Runs in the page before its own scripts. `seen` has the time since 1970 of the first frame that shows a text. */
const recorder = `
  window.longTasks = [];
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) window.longTasks.push({ startTime, duration });
  }).observe({ type: 'longtask', buffered: true });
  window.seen = new Map();
  window.lookFor = (text) => new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error('never on the page: ' + text)), 60000);
    const check = () => {
      if (document.querySelector('main')?.textContent.includes(text) !== true) return false;
      observer.disconnect();
      requestAnimationFrame(() => resolve(Date.now()));
      return true;
    };
    const observer = new MutationObserver(check);
    observer.observe(document.body, { subtree: true, childList: true, characterData: true });
    check();
  });
`;

export interface Loaded {
  /** Milliseconds from the start of the navigation. */
  readonly firstPaintMs: number;
  readonly contentMs: number;
  readonly longestTaskMs: number;
}

export class MeasuredPage {
  readonly page: Page;
  readonly #origin: string;
  #session: CDPSession | undefined;

  constructor(page: Page, origin: string) {
    this.page = page;
    this.#origin = origin;
  }

  async prepare(): Promise<void> {
    await this.page.addInitScript(recorder);
    this.#session = await this.page.context().newCDPSession(this.page);
    await this.#session.send('Performance.enable');
  }

  /** Loads the page anew, until the text is on it. */
  async load(path: string, text: string): Promise<Loaded> {
    await this.page.goto(this.#origin + path, { waitUntil: 'commit' });
    const atMs = await this.page.evaluate<number>(
      `new Promise((resolve) => document.body === null ? addEventListener('DOMContentLoaded', resolve) : resolve())
        .then(() => lookFor(${JSON.stringify(text)})).then((at) => at - performance.timeOrigin)`,
    );
    const firstPaintMs = await eventually('the first paint', () =>
      this.page.evaluate<number | undefined>(`performance.getEntriesByName('first-contentful-paint')[0]?.startTime`),
    );
    return { firstPaintMs, contentMs: atMs, longestTaskMs: await this.longestTask() };
  }

  /** Goes there without loading the page anew, as a link of the page does. */
  async go(path: string, text: string): Promise<void> {
    await this.page.evaluate(
      `history.pushState(null, '', ${JSON.stringify(path)}), dispatchEvent(new PopStateEvent('popstate'))`,
    );
    await this.seen(text);
  }

  /** When the text was on the page; ms since 1970. */
  seen(text: string): Promise<number> {
    return this.page.evaluate<number>(`lookFor(${JSON.stringify(text)})`);
  }

  /** Milliseconds; since the last call, or the page's start. */
  longestTask(): Promise<number> {
    return this.page.evaluate<number>(
      `(() => { const all = longTasks.splice(0); return Math.max(0, ...all.map(({ duration }) => duration)); })()`,
    );
  }

  /** Bytes in use after a collection, of the page and its worker. */
  async heap(): Promise<{ readonly page: number; readonly worker: number }> {
    const used = 'gc(), performance.memory.usedJSHeapSize';
    const workers = await Promise.all(this.page.workers().map((worker) => worker.evaluate<number>(used)));
    return { page: await this.page.evaluate<number>(used), worker: Math.max(0, ...workers) };
  }
}
