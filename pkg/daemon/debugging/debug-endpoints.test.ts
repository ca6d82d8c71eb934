import t from 'tap';
import { DebugEndpoints } from '#daemon/debugging/debug-endpoints.js';
import { ProfilerBusyError } from '#daemon/debugging/profiler.js';
import { Verbosity } from '#daemon/log/verbosity.js';

const take = (ms: number) => Promise.resolve(Buffer.from(`${ms} ms`));
const profiler = { cpu: take, heap: take, allocations: () => Promise.reject(new ProfilerBusyError()) };

function request(endpoints: DebugEndpoints, method: string, url: string, body = '') {
  const [path = '', query] = url.split('?');
  const signal = new AbortController().signal;
  return endpoints.respond({
    method,
    path,
    query: new URLSearchParams(query),
    accept: '',
    body: () => Promise.resolve(body),
    signal,
  });
}

t.test('all endpoints respond', async (t) => {
  const verbosity = new Verbosity({ level: 2 });
  const argv = ['node', 'main.js', '--v=2'];
  const endpoints = new DebugEndpoints({ profiler, verbosity, argv, configz: { group: { a: 1 } } });
  const rows: [method: string, url: string, status: number, body: string | RegExp, sent?: string][] = [
    ['GET', '/configz', 200, '{"group":{"a":1}}'],
    ['GET', '/debug/pprof', 200, /href="\/debug\/pprof\/heap/],
    ['GET', '/debug/pprof/', 200, /href="\/debug\/pprof\/profile/],
    ['GET', '/debug/pprof/cmdline', 200, 'node\0main.js\0--v=2'],
    ['GET', '/debug/pprof/symbol', 200, /^num_symbols: /],
    ['GET', '/debug/pprof/profile', 200, '30000 ms'],
    ['GET', '/debug/pprof/profile?seconds=0.5', 200, '500 ms'],
    ['GET', '/debug/pprof/profile?seconds=0', 400, /seconds must be/],
    ['GET', '/debug/pprof/profile?seconds=301', 400, /seconds must be/],
    ['GET', '/debug/pprof/profile?seconds=x', 400, /seconds must be/],
    ['GET', '/debug/pprof/heap', 200, '5000 ms'],
    ['GET', '/debug/pprof/allocs', 500, /profiling already in use/],
    ['GET', '/debug/flags/v', 405, /unrecognized http method/],
    ['PUT', '/debug/flags/v', 400, /failed set verbosity "x"/, 'x'],
    ['PUT', '/debug/flags/v', 200, 'successfully set verbosity to 5\n', '5\n'],
  ];
  for (const [method, url, status, body, sent] of rows) {
    const response = await request(endpoints, method, url, sent);
    t.equal(response?.status, status, `${method} ${url}`);
    t.match(response?.body.toString(), body, url);
  }
  t.equal(verbosity.level, 5);
  t.equal(request(endpoints, 'GET', '/debug/pprof/more'), undefined);
});

t.test('profiles are absent without profiling', async (t) => {
  t.same(new DebugEndpoints({ argv: [] }).paths, []);
  const endpoints = new DebugEndpoints({ argv: [], verbosity: new Verbosity({ level: 0 }) });
  t.same(endpoints.paths, ['/debug/flags/v']);
  t.equal(request(endpoints, 'GET', '/debug/pprof/'), undefined);
});
