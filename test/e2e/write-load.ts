/**
 * Writes to the API with a client config, as a program of its own so that it can run on another host: `write-load CONFIG`.
 * A line on its standard input asks how it goes, and begins the measuring anew; the end of the input ends it. It answers
 * with lines of JSON, `LoadReport`.
 */
import { argv, stdin, stdout } from 'node:process';
import { createInterface } from 'node:readline';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { connect } from '#client/rest/client-config.js';
import { AcknowledgedWrites } from '#test/e2e/acknowledged.js';

export interface LoadReport {
  readonly acknowledged: number;
  readonly unanswered: number;
  /** Longest time until a write was acknowledged since the last report; ms. */
  readonly longestMs: number;
  /** At the end: acknowledged objects that are missing. */
  readonly lost?: readonly string[];
}

const config = await loadKubeconfig(argv[2] ?? '', { clock: realClock });
const client = connect(config, { dialect: orchDialect, clock: realClock, userAgent: 'load' });
const writes = new AcknowledgedWrites(client);
const tell = (more: Partial<LoadReport> = {}) => {
  const { count: acknowledged, unanswered, longestMs } = writes;
  stdout.write(`${JSON.stringify({ acknowledged, unanswered, longestMs: Math.round(longestMs), ...more })}\n`);
  writes.longestMs = 0;
};
for await (const _ of createInterface(stdin)) tell();
await writes.stop();
tell({ lost: await writes.lost() });
await client.close();
