/** The dashboard in Chromium. It has a network of its own where it may: a browser drops all connections when an interface changes. */
import { spawnSync } from 'node:child_process';
import t from 'tap';
import { whyNoBrowser } from '#test/e2e/dashboard/browser.js';

const inside = 'ORCH_TEST_OWN_NETWORK';
const program = ['sh', '-c', 'ip link set lo up && exec "$@"', 'sh'];

/** Undefined where no network can be made. */
function inOwnNetwork(): number | undefined {
  if (process.env[inside] !== undefined) return undefined;
  const unshare = ['--net', '--', ...program];
  if (spawnSync('unshare', [...unshare, 'true'], { stdio: 'ignore' }).status !== 0) return undefined;
  const own = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const env = { ...process.env, [inside]: 'yes' };
  return spawnSync('unshare', [...unshare, ...own], { stdio: 'inherit', env }).status ?? 1;
}

const noBrowser = whyNoBrowser();
if (noBrowser === undefined) {
  const code = inOwnNetwork();
  if (code !== undefined) process.exit(code);
  await import('#test/e2e/dashboard/walk.js');
} else t.pass('the pages', { skip: noBrowser });
