// SPDX-License-Identifier: Apache-2.0
// The switches: 1 is the protocol as it is, 0 turns a rule or a clause of it off, as in
// `spin -DRULE_8=0`. cases.txt says what each one is about.

#ifndef RULE_1
#define RULE_1 1
#endif
#ifndef RULE_5
#define RULE_5 1
#endif
#ifndef RULE_8
#define RULE_8 1
#endif
#ifndef RULE_8A
#define RULE_8A 1
#endif
#ifndef RULE_8B
#define RULE_8B 1
#endif
#ifndef RULE_9
#define RULE_9 1
#endif
#ifndef RULE_9A
#define RULE_9A 1
#endif
#ifndef RULE_9B
#define RULE_9B 1
#endif
#ifndef RULE_9C
#define RULE_9C 1
#endif
#ifndef RULE_9D
#define RULE_9D 1
#endif
#ifndef RULE_9E
#define RULE_9E 1
#endif
#ifndef RULE_9F
#define RULE_9F 1
#endif
#ifndef RULE_9G
#define RULE_9G 1
#endif
#ifndef RULE_10
#define RULE_10 1
#endif
#ifndef RULE_10A
#define RULE_10A 1
#endif
#ifndef RULE_10B
#define RULE_10B 1
#endif
#ifndef RULE_10C
#define RULE_10C 1
#endif
#ifndef RULE_11
#define RULE_11 1
#endif
#ifndef RULE_11A
#define RULE_11A 1
#endif
#ifndef RULE_13
#define RULE_13 1
#endif
#ifndef RULE_13A
#define RULE_13A 1
#endif
#ifndef RULE_14
#define RULE_14 1
#endif
#ifndef RULE_14A
#define RULE_14A 1
#endif
#ifndef RULE_15
#define RULE_15 1
#endif
#ifndef RULE_15A
#define RULE_15A 1
#endif
#ifndef RULE_15B
#define RULE_15B 1
#endif
#ifndef RULE_15C
#define RULE_15C 1
#endif
#ifndef RULE_16
#define RULE_16 1
#endif
#ifndef RULE_16A
#define RULE_16A 1
#endif
#ifndef RULE_16B
#define RULE_16B 1
#endif
#ifndef RULE_16C
#define RULE_16C 1
#endif
#ifndef RULE_17
#define RULE_17 1
#endif
#ifndef RULE_17A
#define RULE_17A 1
#endif
#ifndef RULE_17B
#define RULE_17B 1
#endif
#ifndef RULE_18
#define RULE_18 1
#endif
#ifndef RULE_18A
#define RULE_18A 1
#endif
#ifndef RULE_18B
#define RULE_18B 1
#endif
#ifndef RULE_18C
#define RULE_18C 1
#endif
#ifndef RULE_18D
#define RULE_18D 1
#endif
#ifndef RULE_18E
#define RULE_18E 1
#endif
#ifndef RULE_21
#define RULE_21 1
#endif
#ifndef RULE_21A
#define RULE_21A 1
#endif
#ifndef RULE_21B
#define RULE_21B 1
#endif
#ifndef RULE_21C
#define RULE_21C 1
#endif
#ifndef RULE_21D
#define RULE_21D 1
#endif
#ifndef RULE_21E
#define RULE_21E 1
#endif
#ifndef RULE_27
#define RULE_27 1
#endif
#ifndef RULE_27A
#define RULE_27A 1
#endif
#ifndef RULE_27B
#define RULE_27B 1
#endif
#ifndef RULE_51
#define RULE_51 1
#endif
#ifndef RULE_51A
#define RULE_51A 1
#endif
#ifndef RULE_51B
#define RULE_51B 1
#endif
#ifndef RULE_51C
#define RULE_51C 1
#endif
#ifndef RULE_53
#define RULE_53 1
#endif
#ifndef ROW_6
#define ROW_6 1
#endif
