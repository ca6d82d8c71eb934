/** A large cluster, `orchctl ui` for it, and a browser that records what its user waits for. */
import { getPriority, setPriority } from 'node:os';
import type { Browser } from 'playwright-core';
import { LargeCluster } from '#test/bench/dashboard/large-cluster.js';
import { MeasuredPage } from '#test/bench/dashboard/measured-page.js';
import { startBrowser } from '#test/e2e/dashboard/browser.js';
import { DashboardTest, type OpenPage } from '#test/e2e/dashboard/dashboard-test.js';

const flags = [
  ...['--enable-precise-memory-info', '--js-flags=--expose-gc'],
  ...['--disable-renderer-backgrounding', '--disable-backgrounding-occluded-windows'],
];

interface ProcessInfo {
  readonly processInfo: readonly { readonly id: number }[];
}

export class Stage {
  readonly cluster: LargeCluster;
  readonly dashboard: DashboardTest;
  readonly #browser: Browser;

  private constructor(cluster: LargeCluster, dashboard: DashboardTest, browser: Browser) {
    this.cluster = cluster;
    this.dashboard = dashboard;
    this.#browser = browser;
  }

  static async start(nodes: number, pods: number): Promise<Stage> {
    const cluster = await LargeCluster.start(nodes, pods);
    const browser = await startBrowser(flags);
    return new Stage(cluster, await DashboardTest.start(browser, cluster.kubeconfig), browser);
  }

  async open(): Promise<MeasuredPage> {
    const { page }: OpenPage = await this.dashboard.open();
    const measured = new MeasuredPage(page, this.dashboard.origin);
    await measured.prepare();
    await this.prefer();
    return measured;
  }

  /** Gives the browser's processes this one's priority, which Chromium resets, for measurements on a busy machine. */
  async prefer(): Promise<void> {
    const session = await this.#browser.newBrowserCDPSession();
    const { processInfo } = (await session.send('SystemInfo.getProcessInfo')) as ProcessInfo;
    await session.detach();
    for (const { id } of processInfo) setPriority(id, getPriority());
  }

  async stop(): Promise<void> {
    await this.dashboard.stop();
    await this.#browser.close();
    await this.cluster.stop();
  }
}
