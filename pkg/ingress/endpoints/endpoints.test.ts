/** Choice of endpoints for requests. */
import t from 'tap';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { chooseEndpoint, type Endpoint, placeOf, readyEndpoints } from '#ingress/endpoints/endpoints.js';

function slice(port: object, endpoints: readonly object[], addressType = 'IPv4'): EndpointSlice {
  return { metadata: { name: 's', namespace: 'default' }, addressType, ports: [port], endpoints } as EndpointSlice;
}

t.test('ready endpoints without duplicates', async (t) => {
  const slices = [
    slice({ name: 'web', port: 8080 }, [
      { addresses: ['10.0.0.1'] },
      { addresses: ['10.0.0.2'], conditions: { ready: false } },
      { addresses: ['10.0.0.3'], conditions: { ready: true } },
    ]),
    slice({ name: 'web', port: 8080 }, [{ addresses: ['10.0.0.1'] }]),
    slice({ name: 'web', port: 8080 }, [{ addresses: ['fd00::1'] }], 'IPv6'),
    slice({ name: 'web', port: 8080 }, [{ addresses: ['example.com'] }], 'FQDN'),
    slice({ name: 'web', port: 53, protocol: 'UDP' }, [{ addresses: ['10.0.0.9'] }]),
    slice({ name: 'other', port: 9090 }, [{ addresses: ['10.0.0.4'] }]),
  ];
  const ready = readyEndpoints(slices, 'web');
  t.same(ready.map(placeOf), ['10.0.0.1:8080', '10.0.0.3:8080', '[fd00::1]:8080']);
  const again = readyEndpoints(slices.slice(0, 1), 'web', ready);
  t.equal(again[0], ready[0], 'an existing endpoint keeps its state');
});

t.test('the less busy endpoint is chosen', async (t) => {
  const make = (active: number, restsUntil = 0): Endpoint => ({ address: '10.0.0.1', port: 1, active, restsUntil });
  const [idle, busy, resting] = [make(0), make(5), make(0, 100)];
  const draws =
    (...values: number[]) =>
    () =>
      values.shift() ?? 0;
  const all = [idle, busy, resting];
  const choose = (tried: Endpoint[], now: number, ...values: number[]) =>
    chooseEndpoint(all, { tried: new Set(tried), now, random: draws(...values) });
  t.equal(choose([], 0, 0, 0.5), idle, 'the endpoint with fewer requests');
  t.equal(choose([], 0, 0.5, 0.9), idle, 'not an endpoint that failed recently');
  t.equal(choose([idle], 0, 0, 0.5), busy, 'not one that was tried');
  t.equal(choose([idle, busy], 0, 0), resting, 'one that rests rather than none');
  t.equal(choose([], 100, 0.9, 0.9), resting, 'once it has rested');
  t.equal(choose(all, 0, 0), undefined);
  t.equal(chooseEndpoint([], { tried: new Set(), now: 0, random: () => 0 }), undefined);
});
