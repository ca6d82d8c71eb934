import { defineTypes, message, optional, pointer } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    HostAlias: message('A line of the hosts file of a pod.', {
      ip: optional(1, 'string', 'IP address.'),
      hostnames: optional(2, 'string[]', 'Names for the address.'),
    }),
    PodDNSConfig: message('Settings of name resolution, added to those that the DNS policy gives.', {
      nameservers: optional(1, 'string[]', 'Addresses of name servers, after those of the policy. Duplicates are dropped; 3 at most in all.'),
      searches: optional(2, 'string[]', 'Search domains, after those of the policy. Duplicates are dropped; 32 at most in all.'),
      options: optional(3, 'PodDNSConfigOption[]', 'Resolver options, added to those of the policy and winning over them.'),
    }),
    PodDNSConfigOption: message('A resolver option.', {
      name: optional(1, 'string', 'Name of the option, such as `ndots`. Required.'),
      value: pointer(2, 'string', 'Value of the option, if it takes one.'),
    }),
  },
});
