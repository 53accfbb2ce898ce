"""The names that LLDP's numbers have in Ironic's ``parsed_lldp``."""

#: Bits of the system capabilities (IEEE 802.1AB-2016, table 8-4), in the order of Ironic: (bit, name).
CAPABILITIES = (
    (1, 'Repeater'),
    (2, 'Bridge'),
    (3, 'WLAN'),
    (4, 'Router'),
    (5, 'Telephone'),
    (6, 'DOCSIS cable device'),
    (7, 'Station only'),
    (8, 'C-Vlan'),
    (9, 'S-Vlan'),
    (10, 'TPMR'),
)

#: What a port can negotiate, from the highest bit but one to the lowest (RFC 4836, IANAifMauAutoNegCapBits 1 to 15).
PHYSICAL_CAPABILITIES = (
    '10BASE-T hdx', '10BASE-T fdx', '10BASE-T4', '100BASE-TX hdx', '100BASE-TX fdx',
    '100BASE-T2 hdx', '100BASE-T2 fdx', 'PAUSE fdx', 'Asym PAUSE fdx', 'Sym PAUSE fdx', 'Asym and Sym PAUSE fdx',
    '1000BASE-X hdx', '1000BASE-X fdx', '1000BASE-T hdx', '1000BASE-T fdx',
)  # fmt: skip

#: Types of medium attachment units, from 0 (RFC 4836, dot3MauType).
MAU_TYPES = (
    'Unknown', 'AUI', '10BASE-5', 'FOIRL', '10BASE-2', '10BASE-T duplex mode unknown', '10BASE-FP', '10BASE-FB',
    '10BASE-FL duplex mode unknown', '10BROAD36', '10BASE-T half duplex', '10BASE-T full duplex',
    '10BASE-FL half duplex', '10BASE-FL full duplex', '100 BASE-T4',
    '100BASE-TX half duplex', '100BASE-TX full duplex', '100BASE-FX half duplex', '100BASE-FX full duplex',
    '100BASE-T2 half duplex', '100BASE-T2 full duplex', '1000BASE-X half duplex', '1000BASE-X full duplex',
    '1000BASE-LX half duplex', '1000BASE-LX full duplex', '1000BASE-SX half duplex', '1000BASE-SX full duplex',
    '1000BASE-CX half duplex', '1000BASE-CX full duplex', '1000BASE-T half duplex', '1000BASE-T full duplex',
    '10GBASE-X', '10GBASE-LX4', '10GBASE-R', '10GBASE-ER', '10GBASE-LR', '10GBASE-SR',
    '10GBASE-W', '10GBASE-EW', '10GBASE-LW', '10GBASE-SW', '10GBASE-CX4', '2BASE-TL', '10PASS-TS',
    '100BASE-BX10D', '100BASE-BX10U', '100BASE-LX10', '1000BASE-BX10D', '1000BASE-BX10U', '1000BASE-LX10',
    '1000BASE-PX10D', '1000BASE-PX10U', '1000BASE-PX20D', '1000BASE-PX20U',
)  # fmt: skip
