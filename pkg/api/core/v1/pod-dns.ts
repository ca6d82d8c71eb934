import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    HostAlias: {
      ip: { number: 1, type: 'string', omitempty: true, optional: true, doc: 'IP address.' },
      hostnames: {
        number: 2,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Names for the address.',
      },
    },
    PodDNSConfig: {
      nameservers: {
        number: 1,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Addresses of name servers, after those of the policy. Duplicates are dropped; 3 at most in all.',
      },
      searches: {
        number: 2,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Search domains, after those of the policy. Duplicates are dropped; 32 at most in all.',
      },
      options: {
        number: 3,
        type: 'PodDNSConfigOption',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Resolver options, added to those of the policy and winning over them.',
      },
    },
    PodDNSConfigOption: {
      name: {
        number: 1,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'Name of the option, such as `ndots`. Required.',
      },
      value: {
        number: 2,
        type: 'string',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Value of the option, if it takes one.',
      },
    },
  },
  docs: {
    HostAlias: 'A line of the hosts file of a pod.',
    PodDNSConfig: 'Settings of name resolution, added to those that the DNS policy gives.',
    PodDNSConfigOption: 'A resolver option.',
  },
};
