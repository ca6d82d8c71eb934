/** Ranges of addresses in clusters without a network of their own. */

/** Of pods; large enough for 4096 nodes. */
export const podRange = '10.0.0.0/12';
export const serviceRange = '172.20.0.0/16';
/** Of the cluster's name server: the tenth of the services' range, as installers choose it. */
export const dnsAddress = '172.20.0.10';
