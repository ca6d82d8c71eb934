/** The dashboard as a person has it: `orchctl ui` of that person, and Chromium at its link. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { type Conduct, watchConduct } from '#test/e2e/dashboard/browser.js';
import { eventually, Running, root } from '#test/e2e/harness.js';

export interface OpenPage {
  readonly page: Page;
  readonly conduct: Conduct;
  readonly context: BrowserContext;
}

export class DashboardTest {
  /** With its secret. */
  readonly link: string;
  readonly origin: string;
  readonly #running: Running;
  readonly #folder: string;
  readonly #browser: Browser;
  #context: BrowserContext | undefined;

  private constructor(browser: Browser, running: Running, folder: string, link: string) {
    this.#browser = browser;
    this.#running = running;
    this.#folder = folder;
    this.link = link;
    this.origin = new URL(link).origin;
  }

  /** `args` are further arguments of `orchctl ui`: `--as=jane`. */
  static async start(browser: Browser, kubeconfig: string, ...args: readonly string[]): Promise<DashboardTest> {
    const folder = mkdtempSync(join(tmpdir(), 'orch-ui-'));
    const config = join(folder, 'config');
    writeFileSync(config, kubeconfig, { mode: 0o600 });
    const command = ['ui', '--no-open', '--port=0', ...args];
    const running = new Running(join(root, 'bin', 'orchctl'), command, { ORCHCONFIG: config });
    const link = await eventually('orchctl ui prints its link', async () => {
      if (running.stderr !== '') throw new Error(running.stderr);
      return /http:\S+/.exec(running.stdout)?.[0];
    });
    return new DashboardTest(browser, running, folder, link);
  }

  async stop(): Promise<void> {
    await this.#context?.close();
    await this.#running.stop();
    rmSync(this.#folder, { recursive: true });
  }

  /** The page at that address, in the browser that has opened the printed link. */
  async open(path = '/ui/', { width = 1280, height = 820 } = {}): Promise<OpenPage> {
    const isFirst = this.#context === undefined;
    this.#context ??= await this.#browser.newContext();
    const context = this.#context;
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    await page.setViewportSize({ width, height });
    const conduct = watchConduct(page, new URL(this.origin).host);
    if (isFirst) await visit(page, this.link);
    if (!isFirst || path !== '/ui/') await visit(page, this.origin + path);
    return { page, conduct, context };
  }
}

/** A browser gives up on a page whenever an interface of the machine changes, as other tests do. */
async function visit(page: Page, address: string): Promise<void> {
  await eventually('the page is loaded', async () => {
    await page.goto(address, { waitUntil: 'load' });
    await page.locator('main').waitFor({ timeout: 15_000 });
    return true;
  });
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

/** What axe finds wrong with the page for people who cannot see or point, as texts. */
export async function axeFaults(page: Page): Promise<string[]> {
  const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  await page.evaluate(source);
  const { violations } = await page.evaluate<AxeResult>('axe.run(document, { resultTypes: ["violations"] })');
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}
