# SPDX-License-Identifier: Apache-2.0
# The headers as Doxygen wants them. In them a comment holds for all declarations up to an empty
# line, and what every options structure has in common is said once.
/^MT_API/ && documented != "" && !/\/\/\/</ { print "/// @copydoc " documented }
/^MT_API/ { match($0, /mt_[a-z0-9_]*\(/); name = substr($0, RSTART, RLENGTH - 1) }
/^#define MT_[A-Z_]*_INIT/ && previous !~ /^\/\/\// { print "/// Every member at its default." }
/^ *size_t struct_size;$/ { $0 = $0 "  ///< sizeof the structure" }
/^#define MT_VERSION / { print "/// This version, as such a number." }
{ print; previous = $0 }
/;( *\/\/\/<.*)?$/ { documented = name }
/^($|\/\/\/)/ { documented = "" }
