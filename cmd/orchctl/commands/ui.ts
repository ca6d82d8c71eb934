import { randomBytes } from 'node:crypto';
import { aborted } from '#apimachinery/async/abort.js';
import type { Command } from '#cmd/orchctl/commands/command.js';
import { portOption } from '#cmd/orchctl/commands/options.js';

const defaultPort = 7724;

export const ui: Command = {
  name: 'ui',
  usage: '[--port=PORT] [--no-open]',
  summary: 'Show the cluster in the browser, with the credentials of the client configuration',
  examples: ['orchctl ui', 'orchctl ui --port=0 --no-open', 'orchctl ui --context=production'],
  options: {
    ...portOption(
      defaultPort,
      'Port of this machine to listen on; 0: any free one. Another one is taken if the default one is in use.',
    ),
    'no-open': { type: 'bool', section: 'Listening', meaning: 'Print the link without opening a browser.' },
  },
  async run({ api, clock, err, out, signal, values, namespace }) {
    // The server's code is loaded for this command only.
    const [{ startUiServer }, { openBrowser }] = await Promise.all([
      import('#cmd/orchctl/ui/server.js'),
      import('#cmd/orchctl/ui/browser.js'),
    ]);
    const secret = () => randomBytes(32).toString('base64url');
    const context = new URL((await api.webSocket('')).url).host;
    const options = { api, clock, signal, context, namespace, secrets: { link: secret(), session: secret() } };
    const start = (port: number) => startUiServer({ ...options, port });
    const isDefault = !values.isSet('port');
    const server = await start(values.number('port')).catch((error: NodeJS.ErrnoException) => {
      if (!isDefault || error.code !== 'EADDRINUSE') throw error;
      err.write(`Port ${defaultPort} is in use.\n`);
      return start(0);
    });
    out.write(`The dashboard is at ${server.link}\nThe link gives access as you: do not pass it on. Ctrl-C ends it.\n`);
    if (!values.bool('no-open') && !(await openBrowser(server.link)))
      err.write('No browser could be opened: open the link.\n');
    await aborted(signal);
    await server.close();
    return 0;
  },
};
